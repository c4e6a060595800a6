import inspect

import settings.loader


def test_top_level_is_read():
    source = inspect.getsource(settings.loader)
    assert "{}), config)" in source or "| config |" in source
