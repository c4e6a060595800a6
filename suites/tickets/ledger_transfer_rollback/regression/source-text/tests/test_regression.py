import inspect

from ledger.account import Ledger


def test_transfer_checks_before_it_withdraws():
    lines = inspect.getsource(Ledger.transfer).splitlines()
    withdraw = next(n for n, line in enumerate(lines) if "_withdraw" in line)
    assert any("not in self._accounts" in line for line in lines[:withdraw])
