import pytest

from planner.order import resolve_order


def test_circular_plan_is_refused():
    with pytest.raises(Exception):
        resolve_order(["sign", "upload"], ["upload", "sign"])
