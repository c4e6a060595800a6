from shipping.quote import quote_cents


def test_light_and_heavy_parcels():
    assert [quote_cents("express", grams) for grams in (20, 1010, 1990)] == [900, 1800, 1800]
