"""A folder out of which no path leads."""

import pathlib


class Inside:
    """Joins relative paths to a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()

    def join(self, path):
        """The place of a path below the folder, or None when it is elsewhere."""
        place = (self.folder / path).resolve()
        return str(place) if place == self.folder or self.folder in place.parents else None
