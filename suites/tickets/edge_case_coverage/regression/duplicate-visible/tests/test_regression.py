from storefront.goods import Product
from storefront.search import InventoryService


def test_nothing_found():
    eggs = Product("E", "Eggs", (), 6)
    assert InventoryService([eggs]).search("wine") == []
