from pricing.cart import Cart, LineItem


def test_rounds_once():
    assert Cart([LineItem("tea", 7, 4)]).total_with_discount_cents(20) == 23
