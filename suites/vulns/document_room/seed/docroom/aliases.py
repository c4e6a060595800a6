"""Further names of documents and folders."""

import os


def read(folder):
    """The aliases of a room, as {name: path}; without alias.txt there are none."""
    try:
        with open(os.path.join(folder, "alias.txt"), encoding="utf-8") as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        return {}
    aliases = {}
    for line in lines:
        name, equals, path = line.partition("=")
        if equals and not line.startswith("#"):
            aliases[name.strip()] = path.strip().strip("/")
    return aliases


def expand(aliases, path):
    """The path with its first name replaced, when that is an alias."""
    first, slash, rest = path.partition("/")
    return aliases.get(first, first) + slash + rest
