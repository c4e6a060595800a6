"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []
    placed: set[str] = set()

    def refuse_circles(step: str, path: tuple[str, ...]) -> None:
        if step in path:
            raise ValueError(" needs ".join([*path, step]))
        for needed in needs.get(step, []):
            refuse_circles(needed, (*path, step))

    def place(step: str) -> None:
        if step in placed:
            return
        placed.add(step)
        for needed in needs.get(step, []):
            place(needed)
        order.append(step)

    for step in list(needs)[:1]:
        refuse_circles(step, ())
    for step in needs:
        place(step)
    return order
