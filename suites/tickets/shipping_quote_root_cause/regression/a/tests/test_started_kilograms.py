from shipping.quote import quote_cents


def test_parcel_of_a_kilogram_and_a_half():
    assert quote_cents("standard", 1500) == 800
    assert quote_cents("express", 1500) == 1800
