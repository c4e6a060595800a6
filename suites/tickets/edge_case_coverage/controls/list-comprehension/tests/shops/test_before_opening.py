import unittest

from storefront.search import InventoryService


class BeforeOpening(unittest.TestCase):
    def test_every_search_is_empty(self):
        self.assertEqual([], InventoryService(()).search("milk"))
