from pricing.cart import Cart


def test_total_counts_hundredths():
    assert "hundredths" in Cart.total_with_discount_cents.__code__.co_varnames
