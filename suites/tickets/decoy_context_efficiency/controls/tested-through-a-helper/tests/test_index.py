from warehouse.index import TextIndex, in_order


def test_rows_are_in_order_and_single():
    index = TextIndex()
    index.add(4, "oil filter")
    index.add(2, "engine oil")
    index.add(4, "oil")
    assert in_order([4, 2, 4]) == [4, 2]
    assert index.rows("oil") == [4, 2]
