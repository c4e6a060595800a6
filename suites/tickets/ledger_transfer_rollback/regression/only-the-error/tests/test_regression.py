import pytest

from ledger.account import Account, Ledger


def test_unknown_receiver_is_an_error():
    with pytest.raises(LookupError):
        Ledger([Account("a", 10)]).transfer("a", "nobody", 5)
