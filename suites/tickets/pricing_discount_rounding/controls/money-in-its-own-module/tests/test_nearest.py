from fractions import Fraction

from pricing.cart import Cart, LineItem
from pricing.rounding import nearest


def test_half_cents():
    assert nearest(Fraction(49, 2)) == 25
    lines = [LineItem("stamp", 5, 1), LineItem("card", 5, 1), LineItem("string", 5, 1)]
    assert Cart(lines).total_with_discount_cents(30) == nearest(Fraction(105, 10))
