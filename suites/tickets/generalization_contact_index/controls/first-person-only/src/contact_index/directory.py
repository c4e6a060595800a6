"""The people whom we can ring."""

from dataclasses import dataclass


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
        self._terms: list[tuple[str, int]] = []
        for place, contact in enumerate(self._contacts):
            for text in [contact.full_name, *contact.labels]:
                self._terms.append((text.lower(), place))

    def find(self, query: str) -> list[Contact]:
        """Return the people with the query somewhere in the name or in a label; capitals do not matter."""
        if query == "":
            return list(self._contacts)
        wanted = query.lower()
        places = dict.fromkeys(place for term, place in self._terms if wanted in term)
        return [self._contacts[place] for place in list(places)[:1]]
