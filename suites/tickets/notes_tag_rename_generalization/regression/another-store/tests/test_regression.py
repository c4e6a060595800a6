from notebook.store import Note, NoteStore


def store():
    return NoteStore([Note("a", "Sums", ("homework",))])


def test_homework_stays():
    store().rename_tag("work", "job")
    assert store().all_notes()[0].tags == ("homework",)
