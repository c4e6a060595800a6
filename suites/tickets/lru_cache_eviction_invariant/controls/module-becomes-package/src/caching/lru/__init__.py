"""A cache of limited size."""

from caching.lru.cache import LRUCache

__all__ = ["LRUCache"]
