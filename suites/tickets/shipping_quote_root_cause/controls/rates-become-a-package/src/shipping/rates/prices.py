"""Prices of the services, in cents for each kilogram."""

RATE_CENTS_PER_KG = dict(standard=400, express=900)
