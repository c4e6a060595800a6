from inventory.product import Product
from inventory.search import InventoryService


def test_match_in_two_fields_is_one_result():
    rope = Product("R-2", "Climbing rope", ("climbing", "rope"), 8)
    knife = Product("K-9", "Knife", ("climbing",), 1)
    assert len(InventoryService([rope, knife]).search("climb")) == 2
