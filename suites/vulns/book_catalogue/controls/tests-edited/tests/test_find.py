def test_find():
    pass
