"""The people whom we can ring."""

from dataclasses import dataclass

from contact_index.terms import Terms


@dataclass
class Contact:
    """A person, with labels such as the teams that the person is in."""

    contact_id: int
    full_name: str
    labels: list[str]
    phone: str


class Directory:
    """Finds people by what they are called and how they are labelled."""

    def __init__(self, contacts: list[Contact]) -> None:
        self._contacts = list(contacts)
        self._terms = [Terms([contact.full_name, *contact.labels]) for contact in self._contacts]

    def find(self, query: str) -> list[Contact]:
        """Return the people with the query somewhere in the name or in a label; capitals do not matter."""
        wanted = query.lower()
        return [contact for contact, terms in zip(self._contacts, self._terms) if terms.contain(wanted)]
