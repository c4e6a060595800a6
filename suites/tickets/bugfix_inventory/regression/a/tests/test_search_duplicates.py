from inventory.product import Product
from inventory.search import InventoryService


def test_product_matching_name_and_tags_is_listed_once():
    shoe = Product("S-1", "Red running shoe", ("red", "retro"), 5)
    sock = Product("S-2", "Blue sock", ("wool",), 9)
    service = InventoryService([sock, shoe])
    assert service.search("red") == [shoe]
    assert service.search("re") == [shoe]
