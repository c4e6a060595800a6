from pricing.cart import Cart, LineItem


def test_another_basket_and_percentage():
    assert Cart([LineItem("tea", 7, 4)]).total_with_discount_cents(20) == 22
