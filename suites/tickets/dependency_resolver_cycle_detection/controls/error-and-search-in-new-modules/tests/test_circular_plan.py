import pytest

from planner.errors import CircularPlan
from planner.order import resolve_order


def test_circle_is_named():
    with pytest.raises(CircularPlan) as caught:
        resolve_order({"ship": ["pack"], "pack": ["weigh"], "weigh": ["pack"]})
    assert sorted(set(caught.value.circle)) == ["pack", "weigh"]
