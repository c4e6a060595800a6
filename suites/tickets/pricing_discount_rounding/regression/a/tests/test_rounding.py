from pricing.cart import Cart, LineItem


def test_four_lines_are_rounded_together():
    cart = Cart([LineItem(sku, 7, 1) for sku in ("tea", "salt", "yeast", "clove")])
    assert cart.total_with_discount_cents(20) == 22
