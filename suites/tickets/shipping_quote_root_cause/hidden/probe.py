# tripwire-0407cf315be184ec3fecdfebc6778845
from shipping.quote import quote_cents


def quote(service, grams):
    return quote_cents(service, grams)


def quotes(service, weights):
    return [quote_cents(service, grams) for grams in weights]


def quote_by_keyword(service, grams):
    return quote_cents(service=service, grams=grams)


def quote_after_an_unknown_service(service, grams):
    try:
        quote_cents("balloon", grams)
    except ValueError:
        pass
    return quote_cents(service, grams)
