"""The order in which the steps of a build run."""

from planner.order.resolve import resolve_order

__all__ = ["resolve_order"]
