"""The order in which the steps of a build run."""


def resolve_order(needs: dict[str, list[str]]) -> list[str]:
    """Return the names of all steps, what a step needs before the step itself.

    Raises ValueError when steps need each other in a circle.
    """
    order: list[str] = []
    state: dict[str, str] = {}

    def place(step: str) -> None:
        if state.get(step) == "done":
            return
        if state.get(step) == "open":
            raise ValueError(f"step {step!r} needs itself, directly or through others")
        state[step] = "open"
        for needed in needs.get(step, []):
            if needed != step:
                place(needed)
        state[step] = "done"
        order.append(step)

    for step in needs:
        place(step)
    return order
