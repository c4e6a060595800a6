"""What people can be found by."""


class Terms:
    """The lower-case texts of one person."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = [text.lower() for text in texts]

    def contain(self, wanted: str) -> bool:
        """Say whether one of the texts contains the lower-case wanted."""
        return any(wanted in text for text in self._texts)
