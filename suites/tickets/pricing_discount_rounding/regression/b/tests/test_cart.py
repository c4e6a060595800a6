from pricing.cart import Cart, LineItem


def three_lines():
    return Cart([LineItem("pad", 10, 1), LineItem("pin", 5, 2), LineItem("clip", 1, 10)])


def test_line_totals():
    assert Cart([LineItem("pen", 120, 3), LineItem("ink", 450, 1)]).line_totals_cents() == [360, 450]


def test_subtotal():
    assert three_lines().subtotal_cents() == 30


def test_discount_on_one_line():
    assert Cart([LineItem("pen", 120, 3)]).total_with_discount_cents(25) == 270


def test_discount_on_three_lines():
    assert three_lines().total_with_discount_cents(15) == 26


def test_discount_on_many_small_lines():
    bolts = Cart([LineItem(f"M{size}", 13, 1) for size in range(5)])
    assert bolts.total_with_discount_cents(9) == 59
    nuts = Cart([LineItem(f"N{size}", 3, 1) for size in range(10)])
    assert nuts.total_with_discount_cents(50) == 15
