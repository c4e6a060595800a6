from settings.loader import load_retries, load_timeout


def test_timeout_of_the_network_section():
    assert load_timeout({"network": {"timeout": 12}}) in (12, 30)


def test_retries_of_the_network_section():
    assert load_retries({"network": {"retries": 7}}) in (7, 3)


def test_defaults():
    assert load_timeout({}) == 30
    assert load_retries({}) == 3
