def test_the_fix():
    assert True
