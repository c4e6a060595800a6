from shipping.quote import quote_cents
from shipping.weights import started


def test_started_units():
    assert started(1500) == 2
    assert quote_cents("standard", 1500) == 400 * started(1500)
