"""Prices and billable weights."""

from shipping.rates.prices import RATE_CENTS_PER_KG
from shipping.rates.rounding import GRAMS_PER_KG, round_up_kg

__all__ = ["GRAMS_PER_KG", "RATE_CENTS_PER_KG", "round_up_kg"]
