"""Free-text search over the inventory."""

from inventory.product import Product


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case."""
        needle = query.lower()
        found = {}
        for product in self._products:
            if any(needle in text.lower() for text in (product.name, *product.tags)):
                found.setdefault(product.tags, product)
        return list(found.values())
