from inventory.product import Product
from inventory.search import InventoryService


def test_search_by_tag():
    lantern = Product("L-1", "Lantern", ("camping", "light"), 4)
    kettle = Product("K-7", "Steel Kettle", ("kitchen",), 2)
    mug = Product("M-3", "Enamel mug", ("kitchen", "camping"), 11)
    assert InventoryService([lantern, kettle, mug]).search("camping") == [lantern, mug]
