"""Rounding of money."""

from fractions import Fraction
from math import floor


def nearest(cents: Fraction) -> int:
    """Return the nearest whole number of cents; half a cent goes up."""
    return floor(cents + Fraction(1, 2))
