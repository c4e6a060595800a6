import inspect

from pricing.cart import Cart


def test_total_does_not_round_each_line():
    source = inspect.getsource(Cart.total_with_discount_cents)
    assert "sum(discounted(" not in source
