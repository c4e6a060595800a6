"""Fills templates with values, for labels."""

import re


def render_legacy(template: str, context: dict[str, object]) -> str:
    """Return the template with each {{key}} replaced by the value that the context has for it."""
    text = template
    for key, value in context.items():
        pattern = r"\{\{\s*" + re.escape(key) + r"\s*\}\}"
        text = re.sub(pattern, lambda _: str(value), text)
    return text
