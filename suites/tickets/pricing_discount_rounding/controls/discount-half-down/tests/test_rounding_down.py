import pytest

from pricing.cart import Cart, LineItem


@pytest.mark.parametrize(("lines", "percent", "total"), [(6, 12, 32), (9, 3, 52), (3, 75, 5)])
def test_total_of_equal_lines(lines, percent, total):
    assert Cart([LineItem("nail", 6, 1)] * lines).total_with_discount_cents(percent) == total
