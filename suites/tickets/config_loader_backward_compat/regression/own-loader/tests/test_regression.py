def load(config, name):
    return config.get("network", {}).get(name, config.get(name))


def test_old_form():
    assert load({"timeout": 45}, "timeout") == 45
    assert load({"retries": 5}, "retries") == 5
