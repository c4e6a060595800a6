"""Paths as requests have them."""

import re
import urllib.parse


class Forbidden(Exception):
    """What may not be asked for."""


def parse(text):
    """The path that a request means, without percent signs and leading slashes."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError("a percent sign without two digits")
    path = text.lstrip("/")
    if ".." in path.split("/"):
        raise Forbidden(text)
    if "%" in path or ".." in path:
        raise Forbidden(text)
    path = urllib.parse.unquote(path)
    if "\0" in path or "\n" in path:
        raise ValueError("a character that no name has")
    return path
