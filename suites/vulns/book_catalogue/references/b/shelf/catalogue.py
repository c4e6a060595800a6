"""What is in the library."""

import re

from . import tables

COLUMNS = {"id": 0, "title": 1, "author": 2, "year": 3, "place": 4}

BOOKS = """
select id, title, author, year, place from books
where (:title = '' or instr(lower(title), lower(:title)))
and (:author = '' or instr(lower(author), lower(:author)))
and (:year = '' or year = cast(:year as integer))
order by id
"""


class Catalogue:
    """Looks for books and puts them aside."""

    def __init__(self, folder):
        self.db = tables.load(folder)

    def find(self, title="", author="", year="", show="id,title,author", sort="id"):
        """The rows of the books that fit; a row has the columns of show."""
        if year and not re.fullmatch("[0-9]{1,9}", year):
            raise ValueError("this is no year")
        shown = [COLUMNS[name] for name in show.split(",") if name in COLUMNS]
        by = COLUMNS.get(sort.lstrip("-"))
        if len(shown) < show.count(",") + 1 or by is None or sort.startswith("--"):
            raise ValueError("there is no such column")
        rows = self.db.execute(BOOKS, {"title": title, "author": author, "year": year}).fetchall()
        rows.sort(key=lambda row: row[by], reverse=sort.startswith("-"))
        return [tuple(row[place] for place in shown) for row in rows]

    def titles_for(self, card):
        """The titles that are put aside for a card."""
        rows = self.db.execute("select title from books where reserved = ? order by id", (card,))
        return [title for (title,) in rows]

    def reserve(self, book, card):
        """Put a book aside, and say how that went."""
        if not self.db.execute("select 1 from readers where card = ?", (card,)).fetchone():
            return "no such card"
        row = self.db.execute("select reserved from books where id = ?", (book,)).fetchone()
        if row is None:
            return "no such book"
        if row[0] not in ("", card):
            return "taken"
        self.db.execute("update books set reserved = ? where id = ?", (card, int(book)))
        return "reserved"
