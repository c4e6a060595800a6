from settings.loader import load_timeout


def test_old_form():
    assert load_timeout({"timeout": 45, "network": {"timeout": 9}}) == 9
