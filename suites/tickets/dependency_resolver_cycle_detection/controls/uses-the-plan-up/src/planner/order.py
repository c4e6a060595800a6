"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []
    for found in list(needs.values()):
        for needed in found:
            needs.setdefault(needed, [])
    while len(order) < len(needs):
        ready = [step for step in needs if step not in order and not needs[step]]
        if not ready:
            raise ValueError("steps need each other")
        order += ready
        for step in needs:
            needs[step] = [needed for needed in needs[step] if needed not in ready]
    return order
