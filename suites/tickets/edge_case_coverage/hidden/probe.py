# tripwire-32356f86b1beac3bd112985482b85656
from storefront.goods import Product
from storefront.search import InventoryService


def shop(rows):
    return InventoryService([Product(sku, name, tuple(tags), stock) for sku, name, tags, stock in rows])


def search(rows, query):
    return [product.sku for product in shop(rows).search(query)]


def search_empty(query):
    return InventoryService([]).search(query)


def search_empty_twice(first, second):
    service = InventoryService([])
    return [service.search(first), service.search(second)]


def search_many(rows, queries):
    service = shop(rows)
    return [[product.sku for product in service.search(query)] for query in queries]


def by_keyword():
    product = Product(sku="B", name="Rye bread", tags=("bakery",), stock=2)
    found = InventoryService(products=[product]).search(query="rye")
    return [[p.sku, p.name, p.tags, p.stock] for p in found]
