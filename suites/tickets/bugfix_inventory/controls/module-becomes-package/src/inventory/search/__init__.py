"""Free-text search over the inventory."""

from inventory.search.service import InventoryService

__all__ = ["InventoryService"]
