"""Articles in the depot, and what happens to them."""

from dataclasses import dataclass


@dataclass(unsafe_hash=True)
class Product:
    """An article and the pieces of it that are in the depot."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int


class InventoryService:
    """All articles of the depot."""

    def __init__(self, products: list[Product]) -> None:
        self._products = list(products)

    def search(self, query: str) -> list[Product]:
        """Return the articles with the query in their name or in a tag."""
        wanted = query.lower()
        return [product for product in self._products if _mentions(product, wanted)]

    def restock(self, sku: str, quantity: int) -> None:
        """Book the arrival of some pieces of an article."""
        for product in self._products:
            if product.sku == sku:
                product.stock += quantity


def _mentions(product: Product, wanted: str) -> bool:
    texts = (product.name, *product.tags)
    return any(wanted in text.lower() for text in texts)
