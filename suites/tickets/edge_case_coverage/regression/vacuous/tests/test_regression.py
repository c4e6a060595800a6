def test_empty_shop():
    empty = []
    assert empty == []
