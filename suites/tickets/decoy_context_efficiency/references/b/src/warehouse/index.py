"""An index from texts to rows."""


class TextIndex:
    """Remembers texts, each with the row that it belongs to."""

    def __init__(self):
        self._texts = []

    def add(self, row, text):
        """Remember that a row has this text."""
        self._texts.append((text.lower(), row))

    def rows(self, part):
        """Return the rows that have a text with this part in it, each once, first added first."""
        part = part.lower()
        found = []
        seen = set()
        for text, row in self._texts:
            if part in text and row not in seen:
                seen.add(row)
                found.append(row)
        return found
