def test_duplicates_are_gone():
    assert True
