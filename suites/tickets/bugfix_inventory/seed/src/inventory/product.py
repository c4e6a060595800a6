"""What the shop sells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One article of the inventory; stock counts pieces."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int
