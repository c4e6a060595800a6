"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []
    placed: set[str] = set()

    def place(step: str) -> None:
        if step in placed:
            return
        for needed in needs.get(step, []):
            place(needed)
        placed.add(step)
        order.append(step)

    for step in needs:
        place(step)
    return order
