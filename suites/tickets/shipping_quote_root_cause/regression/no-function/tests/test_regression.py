from shipping.quote import quote_cents

HALF_KILOGRAMS = [500, 1500, 2500]
assert quote_cents("standard", 1000) == 400
