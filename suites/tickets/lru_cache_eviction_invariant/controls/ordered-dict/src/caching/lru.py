"""A cache of limited size."""

from collections import OrderedDict


class LRUCache:
    """Remembers the values of a limited number of keys."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a cache cannot hold {capacity} keys")
        self._capacity = capacity
        self._entries: OrderedDict = OrderedDict()

    def get(self, key):
        """Return the value of a key, None when the cache does not hold it."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def put(self, key, value) -> None:
        """Remember the value of a key, at the cost of the least recently used key if need be."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def keys_by_recency(self) -> list:
        """Return the keys, the least recently used first."""
        return list(self._entries)
