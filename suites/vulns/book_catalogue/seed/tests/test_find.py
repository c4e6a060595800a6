import pathlib

import pytest

from shelf import Catalogue, answer

DATA = pathlib.Path(__file__).parent.parent / "data"


@pytest.fixture
def ask():
    catalogue = Catalogue(DATA)
    return lambda line: answer(catalogue, line)


def test_title(ask):
    assert ask("find title=tide") == ["6 | The Tide Tables -- an Essay | Per Dahl", "1 book"]
    assert ask("find title=bread, butter") == ["5 | Bread, Butter and Salt | Jon Ask", "1 book"]


def test_author_and_year(ask):
    assert ask("find author=DAHL year=1978 show=id") == ["2", "6", "2 books"]
    assert ask("find year=1890 show=title") == ["Sea Shanties", "1 book"]


def test_signs_stand_for_themselves(ask):
    assert ask("find title=% show=id") == ["3", "1 book"]
    assert ask("find title=_ show=id") == ["4", "1 book"]
    assert ask("find title=-- show=id") == ["6", "1 book"]


def test_all(ask):
    assert ask("find")[-1] == "8 books"
    assert len(ask("find")) == 9


def test_nothing(ask):
    assert ask("find title=cookery") == ["0 books"]


def test_show(ask):
    assert ask("find title=wool show=place,year") == ["B2 | 2004", "1 book"]
    assert ask("find title=wool show=id,title,author,year,place") == ["3 | 100% Wool: A Knitter's Year | Mia Berg | 2004 | B2", "1 book"]


def test_sort(ask):
    assert ask("find show=id sort=year") == ["7", "1", "4", "2", "6", "8", "3", "5", "8 books"]
    assert ask("find show=id sort=-author") == ["2", "6", "7", "3", "8", "5", "1", "4", "8 books"]
    assert ask("find show=id sort=-id")[0] == "8"


def test_unknown_columns(ask):
    assert ask("find show=isbn") == ["not understood"]
    assert ask("find sort=colour") == ["not understood"]


def test_not_understood(ask):
    for line in ["look title=x", "find x", "find title=a title=b", "reserve book=1", "reservations", "reserve card=K-1001"]:
        assert ask(line) == ["not understood"], line
