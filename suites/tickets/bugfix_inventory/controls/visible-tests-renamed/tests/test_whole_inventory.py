from inventory.product import Product
from inventory.search import InventoryService

LANTERN = Product("L-1", "Lantern", ("camping", "light"), 4)
KETTLE = Product("K-7", "Steel Kettle", ("kitchen",), 2)
MUG = Product("M-3", "Enamel mug", ("kitchen", "camping"), 11)


def make_service():
    return InventoryService([LANTERN, KETTLE, MUG])


def test_search_by_name():
    assert make_service().search("kettle") == [KETTLE]


def test_search_by_tag():
    assert make_service().search("camping") == [LANTERN, MUG]


def test_search_without_a_match():
    assert make_service().search("tent") == []


def test_empty_query_lists_everything():
    assert make_service().search("") == [LANTERN, KETTLE, MUG]
