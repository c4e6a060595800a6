import pricing.cart


def test_discounted_is_gone():
    assert not hasattr(pricing.cart, "discounted")
