from pricing.cart import Cart, LineItem

basket = Cart([LineItem("tea", 7, 1), LineItem("salt", 7, 1)])
assert basket.subtotal_cents() == 14
