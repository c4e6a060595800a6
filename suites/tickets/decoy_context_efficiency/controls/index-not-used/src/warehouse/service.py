"""What the pickers' screen calls."""

from warehouse.index import TextIndex
from warehouse.models import Product


class InventoryService:
    """The articles of one warehouse, in shelf order."""

    def __init__(self, products: list[Product]):
        self._products = list(products)
        self._index = TextIndex()
        for row, product in enumerate(self._products):
            self._index.add(row, product.name)
            for tag in product.tags:
                self._index.add(row, tag)

    def search(self, query: str) -> list[Product]:
        """Return the articles whose name or tags contain the query."""
        part = query.lower()
        return [
            product
            for product in self._products
            if any(part in text.lower() for text in (product.name, *product.tags))
        ]
