"""A person."""

from dataclasses import dataclass


@dataclass
class Contact:
    """A person, with labels such as the teams that the person is in."""

    contact_id: int
    full_name: str
    labels: list[str]
    phone: str
