"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    users: dict[str, set[str]] = {}
    open_needs: dict[str, int] = {}
    for step, found in needs.items():
        open_needs[step] = open_needs.get(step, 0) + len(found)
        for needed in found:
            open_needs.setdefault(needed, 0)
            users.setdefault(needed, set()).add(step)
    order = [step for step, count in open_needs.items() if count == 0]
    for step in order:
        for user in sorted(users.get(step, ())):
            open_needs[user] -= 1
            if open_needs[user] == 0:
                order.append(user)
    if len(order) != len(open_needs):
        raise ValueError("the plan has a circle")
    return order
