from settings.loader import load_retries, load_timeout


def test_settings_at_the_top_level():
    old = {"timeout": 45, "retries": 5}
    assert load_timeout(old) == 45
    assert load_retries(old) == 5
