"""The service behind the search box."""

from inventory.product import Product
from inventory.search.texts import contains


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = tuple(products)

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case."""
        return [product for product in self._products if contains(product, query.lower())]
