"""Notes and their tags."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Note:
    """A note; the tags are in the order in which they were attached."""

    note_id: str
    title: str
    tags: tuple[str, ...]


class NoteStore:
    """Holds notes, in the order in which they were written."""

    def __init__(self, notes: list[Note]) -> None:
        self._notes = list(notes)

    def all_notes(self) -> list[Note]:
        """Return every note."""
        return self._notes.copy()

    def find_by_tag(self, text: str) -> list[Note]:
        """Return the notes that have a tag with the text in it; capitals do not matter."""
        return [note for note in self._notes if any(text.lower() in tag.lower() for tag in note.tags)]

    def rename_tag(self, old: str, new: str) -> int:
        """Rename a tag wherever it is attached, and return the number of notes that this concerned."""
        places = [place for place, note in enumerate(self._notes) if old in note.tags]
        for place in places:
            tags = [new if tag == old else tag for tag in self._notes[place].tags]
            self._notes[place] = replace(self._notes[place], tags=tuple(tags))
        return len(places)
