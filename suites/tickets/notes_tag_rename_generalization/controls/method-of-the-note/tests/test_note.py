from notebook.store import Note, NoteStore


def test_note_with_a_longer_tag():
    note = Note("1", "Cart race", ("carting",))
    assert note.with_tag_renamed("cart", "go") is note
    assert NoteStore([note]).rename_tag("cart", "go") == 0
