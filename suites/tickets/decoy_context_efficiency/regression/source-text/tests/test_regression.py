import inspect

import warehouse.index


def test_rows_are_made_unique():
    source = inspect.getsource(warehouse.index.TextIndex.rows)
    assert "fromkeys" in source or "seen" in source
