from contact_index.directory import Directory


def test_places_are_collected():
    assert "places" in Directory.find.__code__.co_varnames
