def test_rosa_comes_up_once():
    assert True
