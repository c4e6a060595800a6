"""Articles in the depot, and what happens to them."""

from depot.inventory.articles import Product
from depot.inventory.service import InventoryService

__all__ = ["InventoryService", "Product"]
