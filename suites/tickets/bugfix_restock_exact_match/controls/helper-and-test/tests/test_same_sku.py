from depot.inventory import InventoryService, Product, same_sku

LONG, SHORT = Product("D44", "Drill", (), 2), Product("D4", "Dowel", (), 90)


def test_same_sku():
    assert same_sku(SHORT, "D4") and not same_sku(LONG, "D4")
    service = InventoryService([LONG, SHORT])
    service.restock("D4", 10)
    assert service.search("drill") == [LONG]
