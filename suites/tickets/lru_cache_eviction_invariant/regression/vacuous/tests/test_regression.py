def test_reading_is_a_use():
    assert True
