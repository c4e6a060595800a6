"""Quotes, as shown on the web site."""

from shipping import rates


class UnknownService(ValueError):
    """We do not offer that service."""


def quote_cents(service: str, grams: int) -> int:
    """Return the price of sending a parcel, in cents."""
    if service not in rates.RATE_CENTS_PER_KG:
        raise UnknownService(service)
    return rates.round_up_kg(grams) * rates.RATE_CENTS_PER_KG[service]
