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
        self._notes = {note.note_id: note for note in notes}

    def all_notes(self) -> list[Note]:
        """Return every note."""
        return list(self._notes.values())

    def find_by_tag(self, text: str) -> list[Note]:
        """Return the notes that have a tag with the text in it; capitals do not matter."""
        wanted = text.lower()
        return [note for note in self.all_notes() if any(wanted in tag.lower() for tag in note.tags)]

    def rename_tag(self, old: str, new: str) -> int:
        """Rename a tag wherever it is attached, and return the number of notes that this concerned."""
        count = 0
        for note in self.all_notes():
            tags = tuple(new if tag == old else tag for tag in note.tags)
            if tags != note.tags:
                del self._notes[note.note_id]
                self._notes[note.note_id] = replace(note, tags=tags)
                count += 1
        return count
