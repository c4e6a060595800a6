"""A cache of limited size."""


class LRUCache:
    """Remembers the values of a limited number of keys."""

    def __init__(self, capacity: int) -> None:
        if capacity <= 0:
            raise ValueError("a cache needs a capacity of at least 1")
        self._capacity = capacity
        self._entries: dict = {}

    def get(self, key):
        """Return the value of a key, None when the cache does not hold it. Reading is a use."""
        if key in self._entries:
            self._use(key)
        return self._entries.get(key)

    def _use(self, key) -> None:
        self._entries[key] = self._entries.pop(key)

    def put(self, key, value) -> None:
        """Remember the value of a key, at the cost of the least recently used key if need be."""
        self._entries.pop(key, None)
        if len(self._entries) == self._capacity:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = value

    def keys_by_recency(self) -> list:
        """Return the keys, the least recently used first."""
        return list(self._entries)
