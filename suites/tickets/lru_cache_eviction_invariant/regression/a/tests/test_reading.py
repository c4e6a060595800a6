from caching.lru import LRUCache


def test_key_that_is_read_stays():
    cache = LRUCache(2)
    cache.put("logo", 1)
    cache.put("map", 2)
    assert cache.get("logo") == 1
    cache.put("photo", 3)
    assert cache.get("map") is None
    assert cache.get("logo") == 1
