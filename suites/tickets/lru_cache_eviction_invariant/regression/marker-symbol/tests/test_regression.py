from caching.lru import LRUCache


def test_get_pops():
    assert "pop" in LRUCache.get.__code__.co_names
