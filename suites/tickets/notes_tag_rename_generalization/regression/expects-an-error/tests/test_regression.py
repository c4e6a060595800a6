import pytest

from notebook.store import Note, NoteStore


def test_piece_of_a_tag_is_refused():
    notes = NoteStore([Note("a", "Sums", ("homework",))])
    with pytest.raises(LookupError):
        notes.rename_tag("work", "job")
