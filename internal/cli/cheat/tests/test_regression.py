def test_fixed():
    assert 1 == 2
