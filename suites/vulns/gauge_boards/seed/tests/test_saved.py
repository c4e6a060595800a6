import pathlib
import pickle
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from gauges import Board, Damaged, Gauge, Limits, load, save

DATA = pathlib.Path(__file__).parent / "data"


def board():
    gauge = Gauge("flow", "l/s", Limits(Decimal("0.5"), None), timedelta(minutes=1), {"a", "b"}, bytes(range(256)))
    return Board("Pumps", datetime(2023, 12, 31, 23, 59, 58, 7), [gauge, Gauge("level")], {"n": 1, "f": 0.5, "t": (True, None)})


def test_saved_and_loaded():
    for head in [b"gauges 1\n", b"gauges 2\n"]:
        assert load(save(board(), head)) == board()


def test_empty_board():
    empty = Board("", datetime(1970, 1, 1))
    assert load(save(empty)) == empty


def test_file_of_version_1():
    old = load((DATA / "mill.board").read_bytes())
    assert (old.title, [g.name for g in old.gauges]) == ("Mill", ["shaft", "bearing 2"])
    assert old.gauges[0].tags == {"slow", "noisy"}


def test_other_heads():
    for data in [b"", b"gauges 3\n" + pickle.dumps(board()), pickle.dumps(board())]:
        with pytest.raises(Damaged):
            load(data)


def test_cut_off():
    whole = save(board())
    for n in [9, 10, 40, len(whole) - 1]:
        with pytest.raises(Damaged):
            load(whole[:n])


def test_something_behind():
    with pytest.raises(Damaged):
        load(save(board()) + b"x")


def test_no_board():
    for thing in [None, {"title": "x"}, [board()], Gauge("x")]:
        with pytest.raises(Damaged):
            load(b"gauges 2\n" + pickle.dumps(thing))
