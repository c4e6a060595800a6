from caching.lru import LRUCache


def test_first_one_written_goes_first():
    cache = LRUCache(2)
    for key in ("one", "two", "three"):
        cache.put(key, key.upper())
    assert cache.get("one") is None
    assert cache.get("two") == "TWO"
