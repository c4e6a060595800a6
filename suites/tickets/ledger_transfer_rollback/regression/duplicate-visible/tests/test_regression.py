import pytest

from ledger.account import Account, Ledger


def test_payer_must_have_the_amount():
    ledger = Ledger([Account("cash", 2500), Account("bank", 10000)])
    with pytest.raises(ValueError):
        ledger.transfer("cash", "bank", 2501)
    assert ledger.balance_of("cash") == 2500
    assert ledger.balance_of("bank") == 10000
