from storefront.search import InventoryService


def test_new_shop_finds_nothing():
    assert InventoryService([]).search("bread") == []
