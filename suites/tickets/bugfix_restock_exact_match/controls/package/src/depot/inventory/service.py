"""What happens to articles."""

from dataclasses import replace


class InventoryService:
    """All articles of the depot."""

    def __init__(self, products):
        self._products = list(products)

    def search(self, query):
        """Return the articles with the query in their name or in a tag."""
        return [p for p in self._products if any(query.lower() in text.lower() for text in (p.name, *p.tags))]

    def restock(self, sku, quantity):
        """Book the arrival of some pieces of an article."""
        self._products = [
            replace(p, stock=p.stock + quantity) if p.sku == sku else p for p in self._products
        ]
