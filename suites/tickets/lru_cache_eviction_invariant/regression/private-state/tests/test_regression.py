from caching.lru import LRUCache


def test_entries_move():
    cache = LRUCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    assert list(cache._entries) == ["b", "a"]
