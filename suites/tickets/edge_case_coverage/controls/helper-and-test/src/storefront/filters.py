"""Choosing goods."""


def mentioning(products, text):
    """Return the products that mention a text."""
    return list(filter(lambda product: product.mentions(text.lower()), products))
