def test_1500_grams():
    assert True
