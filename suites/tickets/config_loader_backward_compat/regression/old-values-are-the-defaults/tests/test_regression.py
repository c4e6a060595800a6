from settings.loader import load_retries, load_timeout


def test_old_form():
    assert load_timeout({"timeout": 30}) == 30
    assert load_retries({"retries": 3}) == 3
