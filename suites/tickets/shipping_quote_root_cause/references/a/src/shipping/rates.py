"""Prices and billable weights."""

GRAMS_PER_KG = 1000

RATE_CENTS_PER_KG = {
    "standard": 400,
    "express": 900,
}


def round_up_kg(grams: int) -> int:
    """Return the kilograms that a parcel of this weight is billed for."""
    return (grams + GRAMS_PER_KG - 1) // GRAMS_PER_KG
