"""Mails made from templates."""

from dataclasses import dataclass

from templating.render import render


@dataclass(frozen=True)
class Mail:
    """Subject and body, of a mail or of a template for one."""

    subject: str
    body: str


def compose(mail: Mail, context: dict[str, object]) -> Mail:
    """Return the mail with subject and body filled in."""
    return Mail(render(mail.subject, context), render(mail.body, context))
