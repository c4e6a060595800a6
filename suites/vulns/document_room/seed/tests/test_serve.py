import io
import pathlib

from docroom import Room, serve

SITE = pathlib.Path(__file__).parent.parent / "site"


def test_serve():
    to = io.BytesIO()
    serve(Room(SITE), io.BytesIO(b"# hello\n\nSIZE index.txt\r\nGET none\nSIZE start"), to)
    assert to.getvalue() == b"200 2\n29\n404\n200 2\n29\n"


def test_room_without_aliases(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    to = io.BytesIO()
    serve(Room(tmp_path), io.BytesIO(b"GET a.txt\nLIST\n"), to)
    assert to.getvalue() == b"200 1\na\n200 5\na.txt\n"
