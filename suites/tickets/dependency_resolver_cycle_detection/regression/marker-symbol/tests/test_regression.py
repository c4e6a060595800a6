from planner import order


def test_open_steps_are_tracked():
    names = order.resolve_order.__code__.co_cellvars
    assert "state" in names
