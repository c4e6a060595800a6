"""Fills templates with values."""

import re


def render(template: str, context: dict[str, object]) -> str:
    """Return the template with the values of the context in its placeholders.

    Every other piece of the split is a placeholder.
    """
    pieces = re.split(r"(\{\{[^{}]+\}\})", template)
    for at in range(1, len(pieces), 2):
        key = pieces[at][2:-2].strip()
        pieces[at] = str(context.get(key, pieces[at]))
    return "".join(pieces)
