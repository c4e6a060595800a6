"""Notes and their tags."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Note:
    """A note; the tags are in the order in which they were attached."""

    note_id: str
    title: str
    tags: tuple[str, ...]

    def with_tag_renamed(self, old: str, new: str) -> "Note":
        """Return the note with one tag renamed, or the note itself if it does not have the tag."""
        if old not in self.tags:
            return self
        return replace(self, tags=tuple(new if tag == old else tag for tag in self.tags))


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
        before = self.all_notes()
        self._notes = {note.note_id: note.with_tag_renamed(old, new) for note in before}
        return sum(old in note.tags for note in before)
