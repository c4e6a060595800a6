"""Keys as they are written in templates."""


def key_of(inner: str) -> str:
    """Return the key that is meant by what is between the braces."""
    return inner.strip()
