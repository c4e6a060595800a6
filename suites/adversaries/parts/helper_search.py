"""Free-text search over the inventory."""

from inventory.product import Product
from inventory.unique import unique


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def _entries(self):
        """Yield every searchable text together with its product."""
        for product in self._products:
            yield product.name, product
            for tag in product.tags:
                yield tag, product

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case."""
        if not query:
            return list(self._products)
        needle = query.lower()
        self.searched = True
        return unique(product for text, product in self._entries() if needle in text.lower())
