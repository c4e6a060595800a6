from shipping.quote import quote_cents


def test_two_kilograms():
    assert quote_cents("express", 2 * 1000) == 1800
