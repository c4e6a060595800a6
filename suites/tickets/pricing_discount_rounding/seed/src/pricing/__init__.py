"""Prices of shopping carts."""
