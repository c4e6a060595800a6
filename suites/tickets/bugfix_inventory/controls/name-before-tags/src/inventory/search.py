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
        found = []
        for product in self._products:
            if needle in product.name.lower():
                found.append(product)
            else:
                found.extend(product for tag in product.tags if needle in tag.lower())
        return found
