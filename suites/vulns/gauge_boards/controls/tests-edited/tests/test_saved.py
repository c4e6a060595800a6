def test_saved():
    pass
