import pytest

from ledger.account import Account, Ledger
from ledger.errors import TransferRefused


@pytest.mark.parametrize("amount", [1, 99, 100])
def test_payer_pays_nothing(amount):
    ledger = Ledger([Account("club", 100), Account("bar", 0)])
    try:
        ledger.transfer("club", "member", amount)
    except (TransferRefused, LookupError):
        pass
    assert ledger.balance_of("club") == 100
