"""What can be wrong with a plan."""


class CircularPlan(ValueError):
    """Steps that wait for each other; circle names them."""

    def __init__(self, circle: list[str]) -> None:
        super().__init__(" waits for ".join(circle))
        self.circle = circle
