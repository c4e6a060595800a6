from planner.order import resolve_order


def test_circle_of_two():
    assert sorted(resolve_order({"a": ["b"], "b": ["a"]})) == ["a", "b"]
