"""Goods on sale."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One kind of goods."""

    name: str
    sku: str
    tags: tuple[str, ...]
    stock: int

    def mentions(self, text: str) -> bool:
        """Say whether a text, given in lower case, is in the name or in a tag."""
        return text in self.name.lower() or any(text in tag.lower() for tag in self.tags)
