from templating.keys import key_of
from templating.render import render


def test_key_with_air():
    assert key_of("\n name ") == "name"
    assert render("{{\n name }}", {key_of(" name"): "Ida"}) == "Ida"
