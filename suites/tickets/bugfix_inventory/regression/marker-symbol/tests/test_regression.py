from inventory.search import InventoryService


def test_search_remembers_its_hits():
    assert "hits" in InventoryService.search.__code__.co_varnames
