"""Billable weights."""

GRAMS_PER_KG = 1000


def round_up_kg(grams: int) -> int:
    """Return the kilograms that a parcel of this weight is billed for."""
    kilograms = 0
    while kilograms * GRAMS_PER_KG < grams:
        kilograms += 1
    return kilograms
