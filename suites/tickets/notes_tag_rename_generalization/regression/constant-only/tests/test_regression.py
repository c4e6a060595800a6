from notebook.store import Note


def test_homework_is_not_work():
    note = Note("a", "Sums", ("homework",))
    assert "work" not in note.tags
    assert "work" in note.tags[0]
