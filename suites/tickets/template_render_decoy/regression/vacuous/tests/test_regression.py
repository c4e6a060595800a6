def test_white_space_is_ignored():
    assert True
