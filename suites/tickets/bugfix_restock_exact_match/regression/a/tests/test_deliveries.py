from depot.inventory import InventoryService, Product


def test_delivery_of_a1_leaves_a10_alone():
    service = InventoryService([Product("A1", "Axe", (), 5), Product("A10", "Awl", (), 5)])
    service.restock("A1", 3)
    assert [(product.sku, product.stock) for product in service.search("")] == [("A1", 8), ("A10", 5)]
