from settings.loader import load_retries, load_timeout
from settings.lookup import lookup


def test_second_section():
    assert lookup("timeout", [{}, {"timeout": 4}], 0) == 4
    old = {"timeout": 4, "retries": 2}
    assert (load_timeout(old), load_retries(old)) == (lookup("timeout", [old], 0), lookup("retries", [old], 0))
