"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []
    placed: set[str] = set()

    def place(step: str) -> None:
        if step in placed:
            return
        placed.add(step)
        for needed in needs.get(step, []):
            place(needed)
        order.append(step)

    for step in needs:
        reached = set(needs[step])
        for _ in range(2):
            reached |= {more for found in reached for more in needs.get(found, [])}
        if step in reached:
            raise ValueError(f"{step} needs itself")
        place(step)
    return order
