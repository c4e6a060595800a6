from templating.render import render


def test_blanks_inside_the_braces():
    assert render("Dear {{ name }},", {"name": "Grace"}) == "Dear Grace,"
    assert render("Dear {{ nobody }},", {"name": "Grace"}) == "Dear {{ nobody }},"
