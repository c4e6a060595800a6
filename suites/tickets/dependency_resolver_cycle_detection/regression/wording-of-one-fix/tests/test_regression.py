import pytest

from planner.order import resolve_order


def test_message():
    with pytest.raises(ValueError, match="needs itself, directly or through others"):
        resolve_order({"a": ["b"], "b": ["a"]})
