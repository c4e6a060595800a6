from depot.inventory import InventoryService, Product

SIMILAR = [Product("A1", "Axe", (), 5), Product("A10", "Awl", (), 5)]
InventoryService(SIMILAR).restock("A10", 1)
