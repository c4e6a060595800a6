from pathlib import Path


def test_rows_do_not_come_straight_from_the_texts():
    text = Path("src/warehouse/index.py").read_text()
    assert "return [row for text, row in self._texts" not in text
