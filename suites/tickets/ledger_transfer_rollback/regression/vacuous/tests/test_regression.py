def test_money_is_not_lost():
    assert True
