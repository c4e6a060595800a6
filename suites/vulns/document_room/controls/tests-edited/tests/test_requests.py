import pathlib

import pytest

from docroom import Room, answer

SITE = pathlib.Path(__file__).parent.parent / "site"


@pytest.fixture
def ask():
    room = Room(SITE)
    return lambda request: answer(room, request.encode())


def test_get(ask):
    assert ask("GET index.txt") == b"200 29\nWelcome to the reading room.\n\n"
    assert ask("GET manuals/pump.txt").startswith(b"200 56\nPump P7\n")


def test_leading_slash(ask):
    assert ask("GET /index.txt") == ask("GET index.txt")


def test_size(ask):
    assert ask("SIZE manuals/v1..2.txt") == b"200 1\n5\n"
    assert ask("SIZE manuals") == b"404\n"


def test_list(ask):
    assert ask("LIST") == b"200 50\n..notes.txt\nalias.txt\nindex.txt\nmanuals/\nreleases/\n"
    assert ask("LIST releases") == b"200 4\n2.1/\n"
    assert ask("LIST index.txt") == b"404\n"


def test_find(ask):
    assert ask("FIND valve") == b"200 16\nmanuals/pump.txt\n"
    assert ask("FIND nothing-holds-this") == b"200 0\n\n"


def test_aliases(ask):
    assert ask("GET news") == ask("GET releases/2.1/news.txt")
    assert ask("GET current/news.txt") == ask("GET news")
    assert ask("LIST current") == b"200 8\nnews.txt\n"


def test_missing(ask):
    assert ask("GET manuals/none.txt") == b"404\n"
    assert ask("GET manuals") == b"404\n"
    assert ask("GET index.txt/more") == b"404\n"


def test_above_the_room(ask):
    assert ask("GET ../README.md") == b"403\n"


def test_no_request(ask):
    for request in ["GET", "PUT index.txt", "get index.txt", "GET a%2", "GET a%zz", "GET a%00"]:
        assert ask(request) == b"400\n", request
