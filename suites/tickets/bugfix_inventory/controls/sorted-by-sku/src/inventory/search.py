"""Free-text search over the inventory."""

from inventory.product import Product


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case."""
        if not query:
            return list(self._products)
        needle = query.lower()
        hits = {
            product.sku: product
            for product in self._products
            for text in (product.name, *product.tags)
            if needle in text.lower()
        }
        return [hits[sku] for sku in sorted(hits)]
