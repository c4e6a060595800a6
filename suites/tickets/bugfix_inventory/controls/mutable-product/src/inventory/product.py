"""What the shop sells."""

from dataclasses import dataclass, field


@dataclass
class Product:
    """One article of the inventory; stock counts pieces."""

    sku: str
    name: str
    tags: tuple[str, ...]
    stock: int
    listed: bool = field(default=False, compare=False)
