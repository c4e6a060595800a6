"""Who was used when."""


class UseLog:
    """The order in which keys were used last."""

    def __init__(self) -> None:
        self._last: dict = {}
        self._now = 0

    def note(self, key) -> None:
        """Note that a key is used now."""
        self._now += 1
        self._last[key] = self._now

    def forget(self, key) -> None:
        """Forget about a key."""
        del self._last[key]

    def order(self) -> list:
        """Return the keys by their last use."""
        return sorted(self._last, key=self._last.__getitem__)
