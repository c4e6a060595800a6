import pytest

from planner.order import resolve_order


def test_two_steps_that_wait_for_each_other():
    with pytest.raises(ValueError):
        resolve_order({"sign": ["upload"], "upload": ["sign"]})


def test_circle_behind_a_step_that_is_fine():
    with pytest.raises(ValueError):
        resolve_order({"notify": ["upload"], "upload": ["sign"], "sign": ["archive"], "archive": ["upload"]})
