from notebook.store import Note, NoteStore


def test_tag_that_nobody_uses():
    notes = NoteStore([Note("n1", "Bread", ("recipes", "baking"))])
    assert notes.rename_tag("travel", "trips") == 0
