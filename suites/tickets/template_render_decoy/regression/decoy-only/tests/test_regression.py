from templating.legacy_render import render_legacy


def test_label_with_white_space():
    assert render_legacy("{{ name }}", {"name": "Ada"}) == "{{ name }}"
