from depot.inventory import InventoryService, Product


def depot():
    return InventoryService(
        [
            Product("K3", "Copper cable", ("Electric", "metal"), 20),
            Product("R7", "Steel pipe", ("metal",), 8),
            Product("T5", "Adhesive tape", (), 55),
        ]
    )


def test_search_finds_parts_of_names_and_tags():
    assert [product.sku for product in depot().search("metal")] == ["K3", "R7"]
    assert [product.sku for product in depot().search("TAPE")] == ["T5"]


def test_restock_adds_pieces():
    service = depot()
    service.restock("R7", 4)
    assert [product.stock for product in service.search("")] == [20, 12, 55]
