"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself."""
    order: list[str] = []

    def place(step: str, path: tuple[str, ...]) -> None:
        if step in path:
            raise ValueError(f"{step} needs itself")
        for needed in needs.get(step, []):
            if needed not in order:
                place(needed, (*path, step))
        order.append(step)

    for step in needs:
        if needs[step] or step not in order:
            place(step, ())
    return order
