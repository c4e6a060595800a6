"""Mails made from templates."""

import re
from dataclasses import dataclass

from templating.render import render


@dataclass(frozen=True)
class Mail:
    """Subject and body, of a mail or of a template for one."""

    subject: str
    body: str


def compose(mail: Mail, context: dict[str, object]) -> Mail:
    """Return the mail with subject and body filled in."""
    return Mail(render(_tight(mail.subject, context), context), render(_tight(mail.body, context), context))


def _tight(text: str, context: dict[str, object]) -> str:
    """Drop the white space of the placeholders that can be filled in."""
    for key in context:
        text = re.sub(r"\{\{\s*" + re.escape(key) + r"\s*\}\}", "{{" + key + "}}", text)
    return text
