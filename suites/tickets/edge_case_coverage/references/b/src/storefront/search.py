"""The search field."""

from storefront.goods import Product


class InventoryService:
    """Answers the search field of one shop."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the goods that mention the query, or all of them for an empty one."""
        if not (query and self._products):
            return self._products[:]
        text = query.lower()
        found = []
        position = 0
        while True:
            product = self._products[position]
            if product.mentions(text):
                found.append(product)
            position += 1
            if position == len(self._products):
                return found
