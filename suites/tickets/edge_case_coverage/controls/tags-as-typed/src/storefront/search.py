"""The search field."""

from storefront.goods import Product


class InventoryService:
    """Answers the search field of one shop."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the goods that mention the query, or all of them for an empty one."""
        text = query.lower()
        return [product for product in self._products if product.mentions(text)]
