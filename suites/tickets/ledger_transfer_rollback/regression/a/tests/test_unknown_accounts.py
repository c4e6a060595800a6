import pytest

from ledger.account import Account, Ledger


def test_payer_keeps_the_money_when_nobody_can_receive_it():
    ledger = Ledger([Account("shop", 7000), Account("till", 400)])
    with pytest.raises(Exception):
        ledger.transfer("shop", "tlil", 3000)
    assert ledger.balance_of("shop") == 7000
    assert ledger.total_balance() == 7400
