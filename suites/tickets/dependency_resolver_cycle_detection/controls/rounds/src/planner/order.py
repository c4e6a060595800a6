"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    left = dict.fromkeys([*needs, *(needed for found in needs.values() for needed in found)])
    order: list[str] = []
    while left:
        ready = [step for step in left if not any(needed in left for needed in needs.get(step, []))]
        if not ready:
            raise ValueError(f"no step of {sorted(left)} can be the next")
        for step in ready:
            del left[step]
        order.extend(ready)
    return order
