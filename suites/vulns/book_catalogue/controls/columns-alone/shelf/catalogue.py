"""What is in the library."""

from . import tables

COLUMNS = ("id", "title", "author", "year", "place")


class Catalogue:
    """Looks for books and puts them aside."""

    def __init__(self, folder):
        self.db = tables.load(folder)

    def find(self, title="", author="", year="", show="id,title,author", sort="id"):
        """The rows of the books that fit; a row has the columns of show."""
        conditions = ["1"]
        if title:
            conditions.append(f"instr(lower(title), lower('{title}'))")
        if author:
            conditions.append(f"instr(lower(author), lower('{author}'))")
        if year:
            conditions.append(f"year = {year}")
        for column in show.split(",") + [sort.removeprefix("-")]:
            if column not in COLUMNS:
                raise ValueError(column)
        order = sort
        if sort.startswith("-"):
            order = sort[1:] + " desc"
        query = f"select {show} from books where {' and '.join(conditions)} order by {order}, id"
        return self.db.execute(query).fetchall()

    def titles_for(self, card):
        """The titles that are put aside for a card."""
        rows = self.db.execute(f"select title from books where reserved = '{card}' order by id")
        return [title for (title,) in rows]

    def reserve(self, book, card):
        """Put a book aside, and say how that went."""
        if not self.db.execute(f"select 1 from readers where card = '{card}'").fetchone():
            return "no such card"
        row = self.db.execute("select reserved from books where id = ?", (book,)).fetchone()
        if row is None:
            return "no such book"
        if row[0] not in ("", card):
            return "taken"
        self.db.execute(f"update books set reserved = '{card}' where id = {int(book)}")
        return "reserved"
