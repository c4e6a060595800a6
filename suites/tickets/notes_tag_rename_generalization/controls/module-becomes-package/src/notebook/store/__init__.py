"""Notes and their tags."""

from notebook.store.note import Note
from notebook.store.notes import NoteStore

__all__ = ["Note", "NoteStore"]
