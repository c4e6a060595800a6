def test_old_form_is_turned_into_the_new_one():
    from settings.loader import DEFAULTS, _modern

    assert _modern({"retries": 4}) == {**DEFAULTS, "retries": 4}
