"""Fills templates with values."""

import re

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def render(template: str, context: dict[str, object]) -> str:
    """Return the template with the values of the context in its placeholders.

    A placeholder is a key in double braces; white space around the key does not count. Where the context does not have
    the key, the text of the placeholder is kept.
    """
    parts = []
    end = 0
    for found in _PLACEHOLDER.finditer(template):
        key = found[1]
        if key in context:
            parts += [template[end:found.start()], str(context[key])]
            end = found.end()
    return "".join(parts) + template[end:]
