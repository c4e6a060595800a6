from shipping.quote import quote_cents


def test_1500_grams():
    assert quote_cents("standard", 1500) == 600
