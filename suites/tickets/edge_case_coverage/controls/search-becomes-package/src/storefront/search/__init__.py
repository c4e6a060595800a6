"""The search field."""

from storefront.search.service import InventoryService

__all__ = ["InventoryService"]
