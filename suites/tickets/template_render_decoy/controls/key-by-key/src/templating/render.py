"""Fills templates with values."""

import re


def render(template: str, context: dict[str, object]) -> str:
    """Return the template with the values of the context in its placeholders."""
    for key, value in context.items():
        template = re.sub(r"\{\{\s*" + re.escape(key) + r"\s*\}\}", lambda _: str(value), template)
    return template
