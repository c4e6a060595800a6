from caching.lru import LRUCache


def test_reading_is_a_use():
    cache = LRUCache(1)
    cache.put("a", 1)
    cache.get("a")
    cache.put("b", 2)
    assert cache.get("a") == 1
