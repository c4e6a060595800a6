"""Commands as they are typed."""

import re


class NotUnderstood(Exception):
    """A command that is none."""


def parse(line, known):
    """A command's first word, and {name: text} of what follows; known is {first word: names}."""
    first, _, rest = line.strip().partition(" ")
    if first not in known:
        raise NotUnderstood(first)
    names = known[first]
    parts = re.split(r"(?:^|\s)(" + "|".join(names) + ")=", rest)
    if parts[0].strip():
        raise NotUnderstood(parts[0])
    found = {}
    for name, text in zip(parts[1::2], parts[2::2]):
        if name in found:
            raise NotUnderstood(name)
        found[name] = text.strip()
        if name == "card" and not re.fullmatch(r"\w+(-\w+)*", found[name]):
            raise NotUnderstood(text)
    return first, found
