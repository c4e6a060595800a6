from storefront.search import InventoryService


def test_loop_asks_for_the_length_first():
    names = InventoryService.search.__code__.co_names
    assert names.index("len") < names.index("mentions")
