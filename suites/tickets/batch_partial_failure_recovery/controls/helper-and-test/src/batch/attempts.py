"""Trying things."""


def error_of(call, *args):
    """Return what the call returns and None, or None and the text of what it raises."""
    try:
        return call(*args), None
    except Exception as error:
        return None, str(error)
