def test_duplicates_are_gone():
    assert False, "the product is listed twice"
