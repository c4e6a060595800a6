import inspect

from inventory.search import InventoryService


def test_search_collects_hits_by_place():
    source = inspect.getsource(InventoryService.search)
    assert "for text, product in self._entries()" not in source
