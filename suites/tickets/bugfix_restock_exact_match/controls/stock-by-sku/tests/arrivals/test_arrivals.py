import unittest

from depot.inventory import InventoryService, Product


class Arrivals(unittest.TestCase):
    def test_only_the_article_itself(self):
        service = InventoryService([Product(sku, sku, (), 0) for sku in ("C", "CC", "CCC")])
        service.restock("CC", 7)
        self.assertEqual([0, 7, 0], [product.stock for product in service.search("")])
