"""A cache of limited size."""

from caching.uses import UseLog


class LRUCache:
    """Remembers the values of a limited number of keys."""

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("a cache needs a capacity of at least 1")
        self._capacity = capacity
        self._entries: dict = {}
        self._uses = UseLog()

    def get(self, key):
        """Return the value of a key, None when the cache does not hold it."""
        if key not in self._entries:
            return None
        self._uses.note(key)
        return self._entries[key]

    def put(self, key, value) -> None:
        """Remember the value of a key, at the cost of the least recently used key if need be."""
        self._entries[key] = value
        self._uses.note(key)
        if len(self._entries) > self._capacity:
            unused = self._uses.order()[0]
            self._uses.forget(unused)
            del self._entries[unused]

    def keys_by_recency(self) -> list:
        """Return the keys, the least recently used first."""
        return self._uses.order()
