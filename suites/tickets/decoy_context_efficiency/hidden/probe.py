# tripwire-b6289d64b9881e4d563b6ccab5d21fef
from warehouse.models import Product
from warehouse.service import InventoryService


def stock(articles):
    return InventoryService([Product(sku, name, tuple(tags), count) for sku, name, tags, count in articles])


def found(articles, query):
    return [article.sku for article in stock(articles).search(query)]


def found_in_turn(articles, queries):
    service = stock(articles)
    return [[article.sku for article in service.search(query)] for query in queries]


def lines(articles, query):
    return [[a.sku, a.name, a.tags, a.stock] for a in stock(articles).search(query)]


def kinds(articles, query):
    result = stock(articles).search(query)
    return [isinstance(result, list), all(isinstance(article, Product) for article in result)]


def fields():
    return list(Product.__dataclass_fields__)


def same_article():
    return Product("7", "Jack", ("lift",), 1) == Product(sku="7", name="Jack", tags=("lift",), stock=1)


def assign(field, value):
    article = Product("7", "Jack", ("lift",), 1)
    setattr(article, field, value)
