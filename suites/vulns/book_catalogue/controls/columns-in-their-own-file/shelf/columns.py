"""The columns of the catalogue that readers see."""

import enum


class Column(enum.Enum):
    """A column, by its name; another name raises ValueError."""

    ID = "id"
    TITLE = "title"
    AUTHOR = "author"
    YEAR = "year"
    PLACE = "place"


def shown(text):
    """What is selected for names with commas between."""
    return ", ".join(Column(name).value for name in text.split(","))


def order(text):
    """What is sorted by for a name that may have a minus before it."""
    falls = text[:1] == "-"
    return Column(text[falls:]).value + (" desc" if falls else " asc")
