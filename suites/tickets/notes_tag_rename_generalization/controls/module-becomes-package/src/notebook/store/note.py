"""A note."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A note; the tags are in the order in which they were attached."""

    note_id: str
    title: str
    tags: tuple[str, ...]
