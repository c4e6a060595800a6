"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []
    placed: set[str] = set()
    met: list[str] = []

    def place(step: str) -> None:
        if step in placed:
            return
        placed.add(step)
        met.append(step)
        for needed in needs.get(step, []):
            if needed in met:
                raise ValueError(f"{needed} is met twice")
            place(needed)
        order.append(step)

    for step in needs:
        met.clear()
        place(step)
    return order
