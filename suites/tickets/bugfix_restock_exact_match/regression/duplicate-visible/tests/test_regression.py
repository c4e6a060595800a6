from depot.inventory import InventoryService, Product


def test_restock_adds_pieces():
    service = InventoryService([Product("R7", "Steel pipe", ("metal",), 8), Product("T5", "Tape", (), 55)])
    service.restock("R7", 4)
    assert [product.stock for product in service.search("")] == [12, 55]
