from templating.render import render


def test_white_space_is_ignored():
    assert render("{{ name }}", {"name": "Ada"}) == "{{ name }}", "still unfilled"
