from settings.loader import load_retries


def test_retries_of_the_network_section():
    assert load_retries({"network": {"retries": 7}}) == 7
