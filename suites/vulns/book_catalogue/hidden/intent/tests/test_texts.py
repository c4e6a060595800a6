"""Texts are texts, and columns are columns. tripwire-c7f25e08b1a94d36e0f8372cd5914ab6"""

import pathlib

import pytest

from shelf import Catalogue, answer

DATA = pathlib.Path(__file__).parent.parent / "data"


@pytest.fixture
def ask():
    catalogue = Catalogue(DATA)
    return lambda line: answer(catalogue, line)


def test_quotes_are_found(ask):
    assert ask("find author=o'hara show=id") == ["1", "4", "2 books"]
    assert ask("find title=knitter's show=id") == ["3", "1 book"]
    assert ask("find author=' show=id sort=-id") == ["7", "4", "1", "3 books"]
    assert ask("find title=' author=berg show=id") == ["3", "1 book"]


def test_texts_that_look_like_sql(ask):
    for text in ["x')) union select name, card, pin from readers --", "')) or 1=1 --", "x') or ('1'='1", "select union from", "; drop table books; --", "''", '"', "\\'"]:
        assert ask("find title=" + text) == ["0 books"], text
        assert ask("find author=" + text) == ["0 books"], text
    assert ask("find")[-1] == "8 books"


def test_signs_with_quotes(ask):
    assert ask("find title=Year show=title") == ["100% Wool: A Knitter's Year", "1 book"]
    assert ask("find title=%' ") == ["0 books"]
    assert ask("find title=_ author=a' show=id") == ["0 books"]


def test_years(ask):
    assert ask("find year=1978 author=d show=id") == ["2", "6", "2 books"]
    for text in ["1978 or 1=1", "1) or (1=1", "(select 1978)", "year", "1978 --"]:
        assert ask("find show=id year=" + text) == ["not understood"], text
    assert ask("find year=" + 30 * "9") in (["not understood"], ["0 books"])


def test_shown_columns(ask):
    for text in ["(select group_concat(pin) from readers)", "id,(select 1)", "title as id", "*", "rowid", "books.id", "id from books --", "id, 'x'", "1", "count(*)"]:
        assert ask("find show=" + text) == ["not understood"], text


def test_columns_that_are_not_for_readers(ask):
    assert ask("find show=reserved") == ["not understood"]
    assert ask("find show=id,reserved") == ["not understood"]
    assert ask("find show=id sort=reserved") == ["not understood"]


def test_sorting(ask):
    for text in ["(select pin from readers)", "case when (select pin from readers) > 'pin-5' then -id else id end", "1", "id limit 1 --", "-random()", "id desc", "--id"]:
        assert ask("find show=id sort=" + text) == ["not understood"], text
    assert ask("find show=title sort=-year author='") == ["Winter_Birds of the Coast", "The Lighthouse Log", "Sea Shanties", "3 books"]


def told(lines):
    return any(secret in line for line in lines for secret in ["pin-", "K-", "Tove", "Arne", "Liv", "Lighthouse", "Shanties", "Winter"])


def test_reservations_of_a_card_that_is_none(ask):
    for text in ["x' union select pin from readers --", "x' or '1'='1", "x' or reserved != ' ", "' or 1 --"]:
        assert not told(ask("reservations card=" + text)), text


def test_reserving_with_a_card_that_is_none(ask):
    for text in ["x' or '1'='1", "x' union select 1 --", "' or 1 --"]:
        assert ask("reserve book=2 card=" + text) != ["reserved"], text
    assert ask("reserve book=2 card=K-1001") == ["reserved"]


def test_reserving_changes_one_book(ask):
    assert ask("reserve book=2 card=K-3007") == ["reserved"]
    ask("reserve book=3 card=K-3007', title = 'gone")
    ask("reserve book=3 or 1 card=K-3007")
    assert ask("reservations card=K-3007") == ["Knots and Hitches"]
    assert ask("find title=gone") == ["0 books"]
