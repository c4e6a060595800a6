"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: dict[str, None] = {}
    for first in needs:
        stack = [(first, iter(needs[first]))] if first not in order else []
        while stack:
            step, rest = stack[-1]
            needed = next((other for other in rest if other not in order), None)
            if needed is None:
                order[step] = None
                stack.pop()
            elif any(needed == waiting for waiting, _ in stack):
                raise ValueError(f"{needed} waits for itself")
            else:
                stack.append((needed, iter(needs.get(needed, []))))
    return list(order)
