"""Lists without repetition."""


def unique(items):
    """Return the items in order, each at its first place only."""
    return list(dict.fromkeys(items))
