"""The order in which the steps of a build run."""

from graphlib import TopologicalSorter


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself.

    Raises graphlib.CycleError, a ValueError, when there is no such order.
    """
    return list(TopologicalSorter(needs).static_order())
