"""A cache of limited size."""

from itertools import count


class LRUCache:
    """Remembers the values of a limited number of keys, and when each was used last."""

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("a cache needs a capacity of at least 1")
        self._capacity = capacity
        self._values: dict = {}
        self._used: dict = {}
        self._ticks = count()

    def get(self, key):
        """Return the value of a key, None when the cache does not hold it."""
        if key in self._values:
            self._used[key] = next(self._ticks)
        return self._values.get(key)

    def put(self, key, value) -> None:
        """Remember the value of a key, at the cost of the least recently used key if need be."""
        if key not in self._values and len(self._values) == self._capacity:
            unused = min(self._used, key=self._used.get)
            del self._values[unused], self._used[unused]
        self._values.pop(key, None)
        self._values[key], self._used[key] = value, next(self._ticks)

    def keys_by_recency(self) -> list:
        """Return the keys, the least recently used first."""
        return list(self._values)
