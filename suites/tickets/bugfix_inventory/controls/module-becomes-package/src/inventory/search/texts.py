"""The texts of a product that a search looks at."""

from inventory.product import Product


def contains(product: Product, needle: str) -> bool:
    """Say whether one of the product's texts contains the lower-case needle."""
    return any(needle in text for text in map(str.lower, [product.name, *product.tags]))
