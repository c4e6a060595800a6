"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself.

    Raises ValueError when some steps can never run because they wait for each other.
    """
    missing = {step: set(needed) for step, needed in needs.items()}
    for needed in needs.values():
        for step in needed:
            missing.setdefault(step, set())

    order = []
    ready = [step for step in missing if not missing[step]]
    while ready:
        finished = ready.pop()
        order.append(finished)
        for step, waits_for in missing.items():
            if finished in waits_for:
                waits_for.remove(finished)
                if not waits_for:
                    ready.append(step)

    return order
