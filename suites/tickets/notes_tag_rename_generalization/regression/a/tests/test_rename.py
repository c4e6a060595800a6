from notebook.store import Note, NoteStore


def test_longer_tags_are_left_alone():
    notes = NoteStore([Note("a", "Minutes", ("work", "daily")), Note("b", "Sums", ("homework",)), Note("c", "Lathe", ("workshop",))])
    assert notes.rename_tag("work", "job") == 1
    assert [note.tags for note in notes.all_notes()] == [("job", "daily"), ("homework",), ("workshop",)]
