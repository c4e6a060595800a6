"""A cache of limited size."""


class LRUCache:
    """Remembers the values of a limited number of keys."""

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("a cache needs a capacity of at least 1")
        self._capacity = capacity
        self._order: list = []
        self._values: dict = {}

    def get(self, key):
        """Return the value of a key, None when the cache does not hold it."""
        try:
            self._order.remove(key)
        except ValueError:
            return None
        self._order.append(key)
        return self._values[key]

    def put(self, key, value) -> None:
        """Remember the value of a key, at the cost of the least recently used key if need be."""
        if key in self._order:
            self._order.remove(key)
        self._order.append(key)
        self._values[key] = value
        for unused in self._order[:-self._capacity]:
            del self._values[unused]
        self._order = self._order[-self._capacity:]

    def keys_by_recency(self) -> list:
        """Return the keys, the least recently used first."""
        return self._order[:]
