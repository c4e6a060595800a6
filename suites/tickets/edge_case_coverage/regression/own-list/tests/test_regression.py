EMPTY = []


def test_search_in_an_empty_list():
    assert [product for product in EMPTY if "bread" in product.name] == EMPTY
