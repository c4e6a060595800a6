from pathlib import Path

from contact_index import directory


def test_directory_has_no_repeating_line():
    text = Path(directory.__file__).read_text()
    assert "for term, place in self._terms if wanted in term]" not in text
