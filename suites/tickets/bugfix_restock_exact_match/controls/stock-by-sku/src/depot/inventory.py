"""Articles in the depot, and what happens to them."""

from dataclasses import asdict, dataclass


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
        self._products = {product.sku: product for product in products}

    def search(self, query: str) -> list[Product]:
        """Return the articles with the query in their name or in a tag."""
        wanted = query.lower()
        return [
            product
            for product in self._products.values()
            if any(wanted in text.lower() for text in (product.name, *product.tags))
        ]

    def restock(self, sku: str, quantity: int) -> None:
        """Book the arrival of some pieces of an article; KeyError when there is none of that SKU."""
        fields = asdict(self._products[sku])
        fields["stock"] += quantity
        self._products[sku] = Product(**fields)
