import unittest

from inventory.product import Product
from inventory.search import InventoryService


class SearchResults(unittest.TestCase):
    def setUp(self):
        self.pan = Product("P-4", "Iron pan", ("iron", "kitchen", "environment"), 6)
        self.service = InventoryService([self.pan])

    def test_pan_is_listed_once(self):
        self.assertEqual(1, len(self.service.search("iron")))
