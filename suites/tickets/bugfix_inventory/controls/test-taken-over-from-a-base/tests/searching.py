from inventory.product import Product
from inventory.search import InventoryService


class EachOnce:
    products = []
    query = ""

    def test_each_product_once(self):
        found = InventoryService(self.products).search(self.query)
        assert [found.count(product) for product in found] == [1] * len(self.products)


DRILL = Product("D-1", "Cordless drill", ("drill", "tools"), 5)
