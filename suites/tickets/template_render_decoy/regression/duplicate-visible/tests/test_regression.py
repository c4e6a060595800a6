from templating.render import render


def test_number_is_filled_in():
    assert render("{{count}} parcels", {"count": 3}) == "3 parcels"
