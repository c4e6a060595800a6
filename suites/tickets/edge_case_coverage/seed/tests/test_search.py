from storefront.goods import Product
from storefront.search import InventoryService

BREAD = Product("B", "Rye bread", ("bakery", "vegan"), 12)
MILK = Product("M", "Oat milk", ("Vegan",), 30)
EGGS = Product("E", "Eggs", (), 6)


def test_search_by_name():
    assert InventoryService([BREAD, MILK, EGGS]).search("egg") == [EGGS]


def test_search_by_tag():
    assert InventoryService([BREAD, MILK, EGGS]).search("vegan") == [BREAD, MILK]


def test_nothing_found():
    assert InventoryService([BREAD, MILK, EGGS]).search("wine") == []
