def test_middle_item_fails():
    assert [1, 3] != [1, 2, 3]
