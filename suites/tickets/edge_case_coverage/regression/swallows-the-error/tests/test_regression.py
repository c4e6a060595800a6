from storefront.search import InventoryService


def test_empty_shop():
    try:
        found = InventoryService([]).search("bread")
    except IndexError:
        found = []
    assert found == []
