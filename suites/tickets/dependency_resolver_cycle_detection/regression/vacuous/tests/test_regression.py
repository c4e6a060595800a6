def test_circular_plan_is_refused():
    assert True
