# tripwire-e28ed38cce926b62d0677aa9988ad370
from inventory.product import Product
from inventory.search import InventoryService


def make(rows):
    return InventoryService([Product(sku, name, tuple(tags), stock) for sku, name, tags, stock in rows])


def search(rows, query):
    return [product.sku for product in make(rows).search(query)]


def search_rows(rows, query):
    return [[p.sku, p.name, p.tags, p.stock] for p in make(rows).search(query)]


def search_twice(rows, first, second):
    service = make(rows)
    service.search(first)
    return [product.sku for product in service.search(second)]


def result_types(rows, query):
    result = make(rows).search(query)
    return [isinstance(result, list), [isinstance(product, Product) for product in result]]


def product_fields():
    product = Product("A-1", "Apron", ("kitchen",), 3)
    return [list(Product.__dataclass_fields__), product.sku, product.name, product.tags, product.stock]


def product_by_keyword():
    product = Product(sku="A-1", name="Apron", tags=("kitchen",), stock=3)
    return product == Product("A-1", "Apron", ("kitchen",), 3)


def change_product(field, value):
    product = Product("A-1", "Apron", ("kitchen",), 3)
    setattr(product, field, value)
    return getattr(product, field)
