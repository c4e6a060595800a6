"""Free-text search over the inventory."""

from inventory.product import Product


class InventoryService:
    """Answers questions about a fixed list of products."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the products whose name or tags contain the query, ignoring case.

        A product is listed for the first of its texts that matches.
        """
        needle = query.lower()
        found = []
        for product in self._products:
            for text in (product.name, *product.tags):
                if needle in text.lower():
                    found.append(product)
                    break
        return found
