def test_reserve():
    pass
