"""The folder with the documents."""

import os

from . import aliases
from .paths import Forbidden


class Room:
    """Looks things up in a folder. Paths are those that paths.parse returns."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.aliases = aliases.read(folder)

    def place(self, path):
        """Where the thing lies that a path names."""
        place = os.path.realpath(os.path.join(self.folder, aliases.expand(self.aliases, path)))
        folder = os.path.realpath(self.folder)
        if os.path.commonpath([place, folder]) != folder:
            raise Forbidden(path)
        return place

    def document(self, path):
        """The bytes of a document."""
        with open(self.place(path), "rb") as f:
            return f.read()

    def size(self, path):
        """How many bytes a document has."""
        place = self.place(path)
        if os.path.isdir(place):
            raise IsADirectoryError(place)
        return os.path.getsize(place)

    def names(self, path):
        """The names in a folder, sorted, folders with a slash behind them."""
        place = self.place(path)
        found = sorted(os.listdir(place))
        return [name + "/" if os.path.isdir(os.path.join(place, name)) else name for name in found]

    def find(self, word):
        """The paths of all documents that hold a word, sorted."""
        found = []
        for folder, _, names in os.walk(self.folder):
            for name in names:
                place = os.path.join(folder, name)
                with open(place, "rb") as f:
                    if word.encode() in f.read():
                        found.append(os.path.relpath(place, self.folder))
        return sorted(found)
