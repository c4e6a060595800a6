from caching.lru import LRUCache


def test_last_read_survives():
    cache = LRUCache(capacity=2)
    cache.put(1, "old")
    cache.put(2, "new")
    cache.get(1)
    cache.put(3, "newest")
    assert cache.get(1) == "old"
