from storefront.search import InventoryService

empty = InventoryService([])
assert empty.search("") == []
