"""A plan with a circle is refused."""

from planner.order import resolve_order

assert resolve_order({"a": []}) == ["a"]
