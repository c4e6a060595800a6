# tripwire-b839201cfc85a9572940eae1e9f046a4
from notebook.store import Note, NoteStore


def fill(rows):
    return NoteStore([Note(note_id, title, tuple(tags)) for note_id, title, tags in rows])


def tags(rows, *renamings):
    """The tags of all notes after the renamings, by id."""
    notes = fill(rows)
    for old, new in renamings:
        notes.rename_tag(old, new)
    return sorted([note.note_id, list(note.tags)] for note in notes.all_notes())


def carriers(rows, renaming, tag):
    """The ids of the notes that have exactly the tag after the renaming, in no order."""
    notes = fill(rows)
    notes.rename_tag(*renaming)
    return sorted(note.note_id for note in notes.all_notes() if tag in note.tags)


def counts(rows, *renamings):
    notes = fill(rows)
    return [notes.rename_tag(old, new) for old, new in renamings]


def whole(rows, *renamings):
    notes = fill(rows)
    for old, new in renamings:
        notes.rename_tag(old, new)
    return [[note.note_id, note.title, list(note.tags)] for note in notes.all_notes()]


def find(rows, text, *renamings):
    notes = fill(rows)
    for old, new in renamings:
        notes.rename_tag(old, new)
    return [note.note_id for note in notes.find_by_tag(text)]


def find_around(rows, text, renaming):
    notes = fill(rows)
    before = [note.note_id for note in notes.find_by_tag(text)]
    notes.rename_tag(*renaming)
    return [before, [note.note_id for note in notes.find_by_tag(text)]]


def kinds(rows, renaming):
    notes = fill(rows)
    count = notes.rename_tag(*renaming)
    every = notes.all_notes()
    found = notes.find_by_tag(renaming[1])
    return [count, isinstance(every, list), isinstance(found, list), [isinstance(note, Note) for note in every + found], [note.tags for note in every]]


def note_fields():
    note = Note("n", "Title", ("a", "b"))
    return [list(Note.__dataclass_fields__), note.note_id, note.title, note.tags]


def change_note(field):
    note = fill([["n", "Title", ["a"]]]).all_notes()[0]
    setattr(note, field, ())
    return True


def by_keyword():
    notes = NoteStore(notes=[Note(note_id="n", title="t", tags=("a",))])
    return [notes.rename_tag(old="a", new="b"), len(notes.find_by_tag(text="b"))]


def notes_handed_in():
    given = [Note("n", "t", ("a",)), Note("m", "t", ("a", "b"))]
    NoteStore(given).rename_tag("a", "c")
    return [note.tags for note in given]
