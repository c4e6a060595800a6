from planner.order import resolve_order


def test_circular_plan_is_refused():
    resolve_order({"a": ["b"], "b": ["a"]})
