from templating.render import render


def test_white_space_around_a_placeholder():
    assert render(" {{name}}\t", {"name": "Ada"}) == " Ada\t"
