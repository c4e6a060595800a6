"""What answers the search field."""


class InventoryService:
    """Answers the search field of one shop."""

    def __init__(self, products):
        self._products = tuple(products)

    def search(self, query):
        """Return the goods that mention the query, or all of them for an empty one."""
        return [product for product in self._products if product.mentions(query.lower())]
