import inspect

from notebook.store import NoteStore


def test_tags_are_compared():
    lines = inspect.getsource(NoteStore.rename_tag)
    assert "tag.replace" not in lines
