"""What is in the library."""

from . import tables

COLUMNS = ("id", "title", "author", "year", "place")


def number(text):
    """The number that a text is, if it is one of a year."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError(text)
    return int(text)


class Catalogue:
    """Looks for books and puts them aside."""

    def __init__(self, folder):
        self.db = tables.load(folder)

    def find(self, title="", author="", year="", show="id,title,author", sort="id"):
        """The rows of the books that fit; a row has the columns of show."""
        conditions, values = ["1"], []
        if title:
            conditions.append("instr(lower(title), lower(?))")
            values.append(title)
        if author:
            conditions.append("instr(lower(author), lower(?))")
            values.append(author)
        if year:
            conditions.append("year = ?")
            values.append(number(year))
        for column in show.split(",") + [sort.removeprefix("-")]:
            if column not in COLUMNS:
                raise ValueError(column)
        order = sort
        if sort.startswith("-"):
            order = sort[1:] + " desc"
        query = f"select {show} from books where {' and '.join(conditions)} order by {order}, id"
        return self.db.execute(query, values).fetchall()

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
