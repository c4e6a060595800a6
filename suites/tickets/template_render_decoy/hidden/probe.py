# tripwire-5d65993a9a00b2d1d952915ae5844734
from templating.legacy_render import render_legacy
from templating.mailer import Mail, compose
from templating.render import render


def fill(template, context):
    return render(template, context)


def mail(subject, body, context):
    filled = compose(Mail(subject, body), context)
    return [filled.subject, filled.body]


def label(template, context):
    return render_legacy(template, context)


def context_after(template, context):
    render(template, context)
    compose(Mail(template, template), context)
    return [[key, value] for key, value in context.items()]


def by_keyword(template, context):
    filled = compose(mail=Mail(subject=template, body="-"), context=context)
    return [render(template=template, context=context), isinstance(filled, Mail), filled.subject]


def mail_fields():
    return list(Mail.__dataclass_fields__)
