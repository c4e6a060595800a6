"""Quotes, as shown on the web site."""

from shipping.rates import RATE_CENTS_PER_KG, round_up_kg


def quote_cents(service: str, grams: int) -> int:
    """Return the price of sending a parcel, in cents."""
    try:
        rate = RATE_CENTS_PER_KG[service]
    except KeyError:
        raise ValueError(f"there is no service {service!r}") from None
    return rate * grams // 1000
