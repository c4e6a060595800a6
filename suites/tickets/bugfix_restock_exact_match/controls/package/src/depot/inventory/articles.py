"""Articles."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """An article and the pieces of it that are in the depot."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int
