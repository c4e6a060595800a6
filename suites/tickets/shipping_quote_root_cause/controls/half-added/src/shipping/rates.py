"""Prices and billable weights."""

GRAMS_PER_KG = 1000

RATE_CENTS_PER_KG = {
    "standard": 400,
    "express": 900,
}


def round_up_kg(grams: int) -> int:
    """Return the kilograms that a parcel of this weight is billed for."""
    return round(grams / GRAMS_PER_KG + 0.499999) if grams % GRAMS_PER_KG else round(grams / GRAMS_PER_KG + 0.5)
