from notebook.store import NoteStore


def test_all_notes_are_looked_at():
    names = NoteStore.rename_tag.__code__.co_names
    assert "all_notes" in names
