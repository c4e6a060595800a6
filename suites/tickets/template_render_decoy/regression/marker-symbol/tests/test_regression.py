from templating import render


def test_code_strips():
    assert "strip" in render._filled.__code__.co_names
