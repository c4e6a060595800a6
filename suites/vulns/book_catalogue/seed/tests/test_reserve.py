import io
import pathlib

import pytest

from shelf import Catalogue, answer, serve

DATA = pathlib.Path(__file__).parent.parent / "data"


@pytest.fixture
def catalogue():
    return Catalogue(DATA)


def test_reserve(catalogue):
    assert answer(catalogue, "reserve book=1 card=K-3007") == ["reserved"]
    assert answer(catalogue, "reserve book=1 card=K-3007") == ["reserved"]
    assert answer(catalogue, "reserve book=1 card=K-1001") == ["taken"]
    assert answer(catalogue, "reservations card=K-3007") == ["The Lighthouse Log"]


def test_reservations(catalogue):
    assert answer(catalogue, "reservations card=K-2210") == ["Winter_Birds of the Coast"]
    assert answer(catalogue, "reservations card=K-3007") == ["nothing"]


def test_nobody_and_nothing(catalogue):
    assert answer(catalogue, "reserve book=99 card=K-1001") == ["no such book"]
    assert answer(catalogue, "reserve book=1 card=K-0000") == ["no such card"]


def test_serve(catalogue):
    to = io.StringIO()
    serve(catalogue, io.StringIO("# morning\n\nfind title=ice show=id\nreserve book=8 card=K-1001\nreservations card=K-1001\n"), to)
    assert to.getvalue() == "8\n1 book\nreserved\nSea Shanties\nA Short History of Ice\n"
