import inspect

import templating.render


def test_renderer_strips():
    assert "strip" in inspect.getsource(templating.render)
