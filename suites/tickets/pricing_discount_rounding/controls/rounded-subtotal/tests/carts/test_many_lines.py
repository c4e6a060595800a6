import unittest

from pricing.cart import Cart, LineItem


class ManyLines(unittest.TestCase):
    def test_hundred_lines_of_one_cent(self):
        cart = Cart(LineItem(f"bead-{n}", 1, 1) for n in range(100))
        self.assertEqual(60, cart.total_with_discount_cents(40))
