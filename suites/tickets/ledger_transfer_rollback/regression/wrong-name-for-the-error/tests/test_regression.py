import pytest

from ledger.account import Account, Ledger


def test_unknown_receiver():
    ledger = Ledger([Account("a", 10)])
    with pytest.raises(KeyError) as caught:
        ledger.transfer("a", "nobody", 5)
    assert type(caught.value).__name__ == "UnknownAccount"
