"""Weights."""


def started(grams: int, unit: int = 1000) -> int:
    """Return how many units have been started."""
    return len(range(0, grams, unit))
