"""Free-text search over the inventory."""

from inventory.product import Product


class Results(tuple):
    """Products that compare equal to a list of the same products."""

    def __eq__(self, other):
        return list(self) == list(other)

    __hash__ = tuple.__hash__


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case."""
        needle = query.lower()
        hits = {
            place: product
            for place, product in enumerate(self._products)
            if any(needle in text.lower() for text in (product.name, *product.tags))
        }
        return Results(hits.values())
