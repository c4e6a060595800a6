import unittest

from notebook.store import Note, NoteStore


class RenameWhole(unittest.TestCase):
    def test_art_is_not_part(self):
        notes = NoteStore([Note("1", "Monet", ("art", "party"))])
        notes.rename_tag("art", "painting")
        self.assertEqual(notes.all_notes()[0].tags, ("painting", "party"))
