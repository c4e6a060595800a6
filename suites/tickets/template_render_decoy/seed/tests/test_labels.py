from templating.legacy_render import render_legacy


def test_label():
    assert render_legacy("{{name}}\n{{town}}", {"name": "Ada", "town": "Bath"}) == "Ada\nBath"
