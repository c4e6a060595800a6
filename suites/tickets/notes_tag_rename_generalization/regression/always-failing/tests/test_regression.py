from notebook.store import Note, NoteStore


def test_homework_stays():
    notes = NoteStore([Note("a", "Sums", ("homework",))])
    assert notes.rename_tag("work", "job") == 1, "one note expected"
