import inspect

from planner.order import resolve_order


def test_order_raises():
    assert "raise ValueError" in inspect.getsource(resolve_order)
