"""Fills templates with values."""


def render(template: str, context: dict[str, object]) -> str:
    """Return the template with the values of the context in its placeholders."""
    text = ""
    rest = template
    while rest:
        before, opening, after = rest.partition("{{")
        inner, closing, behind = after.partition("}}")
        text += before
        if not closing:
            return text + opening + after
        key = inner.strip()
        text += str(context[key]) if key in context else opening + inner + closing
        rest = behind
    return text
