from notebook.store import Note, NoteStore


def store():
    return NoteStore([
        Note("n1", "Bread", ("recipes", "baking")),
        Note("n2", "Glue the chair", ("workshop",)),
        Note("n3", "Taxes", ()),
        Note("n4", "Rolls", ("baking", "sunday")),
    ])


def test_tag_is_renamed_in_all_notes():
    notes = store()
    assert notes.rename_tag("baking", "oven") == 2
    assert [note.tags for note in notes.all_notes()] == [("recipes", "oven"), ("workshop",), (), ("oven", "sunday")]


def test_find_by_a_piece_of_a_tag():
    assert [note.note_id for note in store().find_by_tag("Shop")] == ["n2"]


def test_tag_that_nobody_uses():
    assert store().rename_tag("travel", "trips") == 0


def test_notes_come_in_order():
    assert [note.title for note in store().all_notes()] == ["Bread", "Glue the chair", "Taxes", "Rolls"]
