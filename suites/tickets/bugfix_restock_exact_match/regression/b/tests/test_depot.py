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


def test_restock_of_a_sku_that_is_the_end_of_another():
    service = InventoryService([Product("XB2", "Bolt", (), 0), Product("B2", "Brace", (), 1)])
    service.restock("B2", 10)
    bolt, brace = service.search("b")
    assert bolt.stock == 0
    assert brace.stock == 11
