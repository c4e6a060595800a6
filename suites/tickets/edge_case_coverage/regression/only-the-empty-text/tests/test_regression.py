from storefront.search import InventoryService


def test_empty_shop():
    assert InventoryService([]).search("") == []
