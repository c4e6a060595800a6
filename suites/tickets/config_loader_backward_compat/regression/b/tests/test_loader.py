from settings.loader import load_retries, load_timeout


def test_timeout_of_the_network_section():
    assert load_timeout({"network": {"timeout": 12}}) == 12


def test_retries_of_the_network_section():
    assert load_retries({"network": {"retries": 7}}) == 7


def test_defaults():
    assert load_timeout({}) == 30
    assert load_retries({}) == 3


def test_old_form():
    assert [load_timeout({"timeout": 1}), load_retries({"retries": 1})] == [1, 1]
