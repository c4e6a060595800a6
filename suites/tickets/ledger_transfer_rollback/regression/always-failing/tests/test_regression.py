from ledger.account import Account, Ledger


def test_money_is_not_lost():
    ledger = Ledger([Account("a", 10)])
    ledger.transfer("a", "nobody", 5)
    assert ledger.balance_of("a") == 10
