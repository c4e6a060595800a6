from warehouse.index import TextIndex


def test_rows_uses_a_dict():
    assert "fromkeys" in TextIndex.rows.__code__.co_names
