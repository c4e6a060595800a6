# tripwire-1bb9a4829cc6f8cee1f03e419fc537c0
from depot.inventory import InventoryService, Product


def depot(rows):
    return InventoryService([Product(sku, name, tuple(tags), stock) for sku, name, tags, stock in rows])


def stocks(stock_by_sku, deliveries):
    service = depot([[sku, "thing", [], stock] for sku, stock in stock_by_sku])
    for sku, quantity in deliveries:
        try:
            service.restock(sku, quantity)
        except Exception:
            pass
    return [[product.sku, product.stock] for product in service.search("")]


def search(rows, query):
    return [product.sku for product in depot(rows).search(query)]


def search_after(rows, deliveries, query):
    service = depot(rows)
    for sku, quantity in deliveries:
        service.restock(sku, quantity)
    return [[p.sku, p.name, p.tags, p.stock] for p in service.search(query)]


def by_keyword():
    service = InventoryService(products=[Product(sku="A1", name="Axe", tags=("tool",), stock=1)])
    service.restock(sku="A1", quantity=2)
    return [[p.sku, p.name, p.tags, p.stock] for p in service.search(query="axe")]


def change(field, value):
    product = Product("A1", "Axe", ("tool",), 1)
    setattr(product, field, value)
