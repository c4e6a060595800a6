import inspect

import depot.inventory


def test_no_part_of_a_sku():
    assert "if sku in product.sku" not in inspect.getsource(depot.inventory)
