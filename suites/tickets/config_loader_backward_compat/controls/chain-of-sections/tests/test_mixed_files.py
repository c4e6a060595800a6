import pytest

from settings.loader import load_retries, load_timeout


@pytest.mark.parametrize("load, name", [(load_timeout, "timeout"), (load_retries, "retries")])
def test_setting_outside_of_the_section(load, name):
    assert load({"network": {"proxy": "none"}, name: 8}) == 8
