def test_rounds_once():
    assert True
