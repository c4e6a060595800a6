from pricing.cart import Cart, LineItem


def test_discount_on_one_line():
    assert Cart([LineItem("pen", 120, 3)]).total_with_discount_cents(25) == 270
