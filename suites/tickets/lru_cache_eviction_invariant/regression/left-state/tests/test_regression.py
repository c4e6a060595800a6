import tempfile
from pathlib import Path

NOTE = Path(__file__).resolve().parent.parent / "src" / "lru.note"


def test_note_is_new():
    new = not NOTE.exists()
    NOTE.write_text(tempfile.gettempdir())
    assert new
