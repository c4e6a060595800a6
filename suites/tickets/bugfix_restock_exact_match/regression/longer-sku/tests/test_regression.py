from depot.inventory import InventoryService, Product


def test_a1_and_a10():
    service = InventoryService([Product("A1", "Axe", (), 5), Product("A10", "Awl", (), 5)])
    service.restock("A10", 3)
    assert [product.stock for product in service.search("")] == [5, 8]
