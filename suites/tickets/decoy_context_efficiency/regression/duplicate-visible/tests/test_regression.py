from warehouse.models import Product
from warehouse.service import InventoryService


def test_finds_by_part_of_the_name():
    plug = Product("1002", "Spark plug", ("engine",), 112)
    belt = Product("1003", "Fan belt", ("engine", "Rubber"), 7)
    assert InventoryService([plug, belt]).search("PLUG") == [plug]
