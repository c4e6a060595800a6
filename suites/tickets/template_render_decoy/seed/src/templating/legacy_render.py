"""Fills templates with values, for labels."""


def render_legacy(template: str, context: dict[str, object]) -> str:
    """Return the template with each {{key}} replaced by the value that the context has for it."""
    text = template
    for key, value in context.items():
        text = text.replace("{{" + key + "}}", str(value))
    return text
