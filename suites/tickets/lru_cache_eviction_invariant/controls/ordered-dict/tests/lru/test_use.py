import pytest

from caching.lru import LRUCache


@pytest.fixture
def shelf():
    cache = LRUCache(3)
    for number, key in enumerate(["map", "chart", "sketch"]):
        cache.put(key, number)
    return cache


@pytest.mark.parametrize("key", ["map", "chart"])
def test_use_by_reading(shelf, key):
    shelf.get(key)
    assert shelf.keys_by_recency()[-1] == key
