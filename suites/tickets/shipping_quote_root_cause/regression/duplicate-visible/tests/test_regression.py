from shipping.quote import quote_cents


def test_standard_service():
    assert quote_cents("standard", 2000) == 800
