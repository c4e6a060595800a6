def test_old_form():
    config = {"timeout": 45}
    assert config["timeout"] == 45
