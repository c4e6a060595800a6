"""Homework stays homework."""

from notebook.store import NoteStore

assert NoteStore([]).rename_tag("work", "job") == 0
