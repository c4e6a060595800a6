"""Commands and their answers."""

import sqlite3

from . import words

KNOWN = {
    "find": ["title", "author", "year", "show", "sort"],
    "reserve": ["book", "card"],
    "reservations": ["card"],
}
NEEDED = {"find": [], "reserve": ["book", "card"], "reservations": ["card"]}


def find(catalogue, given):
    rows = catalogue.find(**{name: text for name, text in given.items() if text})
    lines = [" | ".join(str(value) for value in row) for row in rows]
    return lines + ["1 book" if len(rows) == 1 else f"{len(rows)} books"]


def answer(catalogue, line):
    """The lines of the answer to a command."""
    try:
        verb, given = words.parse(line, KNOWN)
        if any(not given.get(name) for name in NEEDED[verb]):
            raise words.NotUnderstood(line)
        if verb == "find":
            return find(catalogue, given)
        if verb == "reserve":
            return [catalogue.reserve(given["book"], given["card"])]
        return catalogue.titles_for(given["card"]) or ["nothing"]
    except (words.NotUnderstood, sqlite3.OperationalError, ValueError):
        return ["not understood"]


def serve(catalogue, commands, to):
    """Answer each line."""
    for line in commands:
        if line.strip() and not line.startswith("#"):
            for text in answer(catalogue, line.rstrip("\n")):
                print(text, file=to)
