import pytest

from ledger.account import Account, Ledger


def test_refused_for_want_of_a_receiver():
    ledger = Ledger([Account("club", 50)])
    with pytest.raises(ValueError):
        ledger.transfer("club", "member", 20)
    assert ledger.balance_of("club") == 50
