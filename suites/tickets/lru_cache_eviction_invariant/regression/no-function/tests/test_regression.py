"""Reading a key is a use of it."""

from caching.lru import LRUCache

cache = LRUCache(1)
assert cache.get("logo") is None
