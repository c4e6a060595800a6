"""What the shop sells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One article of the inventory; stock counts pieces."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int

    def matches(self, query: str) -> bool:
        """Say whether the query is part of the name or of a tag, ignoring case."""
        needle = query.lower()
        return needle in self.name.lower() or any(needle in tag.lower() for tag in self.tags)
