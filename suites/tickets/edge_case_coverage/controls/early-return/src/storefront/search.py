"""The search field."""

from storefront.goods import Product


class InventoryService:
    """Answers the search field of one shop."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the goods that mention the query, or all of them for an empty one."""
        if not query or len(self._products) == 0:
            return list(self._products)
        text = query.lower()
        return list(filter(lambda product: product.mentions(text), self._products))
