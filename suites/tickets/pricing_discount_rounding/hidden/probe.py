# tripwire-e9e6d3bccc28343f5b0ff2187544a979
from pricing.cart import Cart, LineItem


def cart(lines):
    return Cart([LineItem(sku, price, quantity) for sku, price, quantity in lines])


def total(lines, percent):
    return cart(lines).total_with_discount_cents(percent)


def totals(lines, percents):
    basket = cart(lines)
    return [basket.total_with_discount_cents(percent) for percent in percents]


def line_totals(lines):
    return cart(lines).line_totals_cents()


def subtotal(lines):
    return cart(lines).subtotal_cents()


def amounts_around_a_discount(lines, percent):
    basket = cart(lines)
    basket.total_with_discount_cents(percent)
    return [basket.line_totals_cents(), basket.subtotal_cents()]


def by_keyword():
    item = LineItem(sku="pen", unit_price_cents=120, quantity=3)
    return [item.sku, item.unit_price_cents, item.quantity, Cart(items=[item]).total_with_discount_cents(percent=50)]


def by_position():
    item = LineItem("pen", 120, 3)
    return [item.sku, item.unit_price_cents, item.quantity, Cart([item]).total_with_discount_cents(50)]
