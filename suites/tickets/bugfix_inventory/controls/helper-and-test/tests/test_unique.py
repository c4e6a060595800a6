from inventory.product import Product
from inventory.search import InventoryService
from inventory.unique import unique

ROPE = Product("R-2", "Climbing rope", ("climbing", "rope"), 8)


def test_search_results_are_unique():
    assert unique([ROPE, ROPE]) == [ROPE]
    results = InventoryService([ROPE]).search("rope")
    assert results == unique(results)
