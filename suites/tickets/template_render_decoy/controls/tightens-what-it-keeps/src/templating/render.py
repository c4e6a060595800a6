"""Fills templates with values."""

import re

_PLACEHOLDER = re.compile(r"\{\{([^{}]+)\}\}")


def render(template: str, context: dict[str, object]) -> str:
    """Return the template with the values of the context in its placeholders.

    A placeholder is a key in double braces, which may have white space around it. It is kept when the context does not have the key.
    """
    return _PLACEHOLDER.sub(lambda found: _filled(found, context), template)


def _filled(found: re.Match, context: dict[str, object]) -> str:
    key = found.group(1).strip()
    if key not in context:
        return "{{" + key + "}}"
    return str(context[key])
