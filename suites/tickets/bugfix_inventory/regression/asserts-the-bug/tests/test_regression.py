from inventory.product import Product
from inventory.search import InventoryService


def test_product_matching_twice():
    apple = Product("F-1", "Red apple", ("red",), 3)
    assert InventoryService([apple]).search("red") == [apple, apple]
