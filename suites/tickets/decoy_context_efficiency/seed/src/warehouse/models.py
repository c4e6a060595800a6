"""The article, as every part of the warehouse sees it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """An article: its number, what it is called, its tags, and how many are on the shelf."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int
