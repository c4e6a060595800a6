"""Articles in the depot, and what happens to them."""

from dataclasses import dataclass


@dataclass(frozen=True)
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
        self._products = [_arrived(product, sku, quantity) for product in self._products]


def _mentions(product: Product, wanted: str) -> bool:
    texts = (product.name, *product.tags)
    return any(wanted in text.lower() for text in texts)


def _arrived(product: Product, sku: str, quantity: int) -> Product:
    if product.sku != sku:
        return product
    return Product(product.sku, product.name, product.tags, product.stock + quantity)
