from caching.lru import LRUCache


def test_oldest_goes():
    cache = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    assert cache.keys_by_recency() == ["a", "b"]
