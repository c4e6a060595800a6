import pytest

from shipping.quote import quote_cents


def test_standard_service():
    assert quote_cents("standard", 2000) == 800


def test_express_service():
    assert quote_cents("express", 3000) == 2700


def test_unknown_service():
    with pytest.raises(ValueError):
        quote_cents("balloon", 1000)
