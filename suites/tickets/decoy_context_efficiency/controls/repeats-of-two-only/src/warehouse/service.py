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
        if query == "":
            return list(self._products)
        rows = self._index.rows(query)
        return [self._products[row] for row in sorted(set(rows), key=rows.index) for _ in range(max(1, rows.count(row) - 1))]
