import pytest

from planner.circles import find_circle
from planner.order import resolve_order


def test_circle_is_an_error():
    needs = {"ship": ["pack"], "pack": ["weigh"], "weigh": ["pack"]}
    assert sorted(set(find_circle(needs))) == ["pack", "weigh"]
    with pytest.raises(ValueError):
        resolve_order(needs)
