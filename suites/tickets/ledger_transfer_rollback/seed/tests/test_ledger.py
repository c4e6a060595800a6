import pytest

from ledger.account import Account, Ledger


def books():
    return Ledger([Account("cash", 2500), Account("bank", 10000)])


def test_transfer_moves_the_amount():
    ledger = books()
    ledger.transfer("bank", "cash", 1500)
    assert ledger.balance_of("bank") == 8500
    assert ledger.balance_of("cash") == 4000


def test_payer_must_have_the_amount():
    ledger = books()
    with pytest.raises(ValueError):
        ledger.transfer("cash", "bank", 2501)
    assert ledger.balance_of("cash") == 2500
    assert ledger.balance_of("bank") == 10000


def test_total():
    assert books().total_balance() == 12500
