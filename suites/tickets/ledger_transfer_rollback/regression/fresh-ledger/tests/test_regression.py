import pytest

from ledger.account import Account, Ledger


def books():
    return Ledger([Account("a", 10), Account("b", 0)])


def test_balance_after_a_refused_transfer():
    with pytest.raises(Exception):
        books().transfer("a", "nobody", 5)
    assert books().balance_of("a") == 10
