from pricing.cart import Cart, LineItem


def test_sum_of_the_rounded_lines():
    cart = Cart([LineItem("tea", 7, 1)] * 4)
    assert cart.total_with_discount_cents(20) == 24
