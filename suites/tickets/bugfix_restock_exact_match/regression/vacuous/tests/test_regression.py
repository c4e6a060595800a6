def test_a1_and_a10():
    assert "A1" != "A10"
