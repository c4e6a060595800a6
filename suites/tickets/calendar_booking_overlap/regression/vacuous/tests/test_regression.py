def test_back_to_back():
    assert 600 == 600
