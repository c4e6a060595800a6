"""Accounts, and the ledger that moves money between them."""

from dataclasses import dataclass


@dataclass
class Account:
    """An account; the balance is in cents."""

    account_id: str
    balance: int


class NoSuchAccount(KeyError, ValueError):
    """The ledger has no account of that name."""


class Ledger:
    """A set of accounts that pay each other."""

    def __init__(self, accounts: list[Account]) -> None:
        self._accounts = {account.account_id: account for account in accounts}

    def balance_of(self, account_id: str) -> int:
        """Return the balance of one account, in cents."""
        return self._accounts[account_id].balance

    def total_balance(self) -> int:
        """Return the sum of all balances, in cents."""
        return sum(account.balance for account in self._accounts.values())

    def transfer(self, from_id: str, to_id: str, amount: int) -> None:
        """Move an amount of cents from one account to another, or nothing at all."""
        if amount <= 0:
            raise ValueError("the amount must be positive")
        done = []
        try:
            for account_id, change in ((from_id, -amount), (to_id, amount)):
                self._book(account_id, change)
                done.append((account_id, change))
        except ValueError:
            for account_id, change in done:
                self._book(account_id, -change)
            raise

    def _book(self, account_id: str, change: int) -> None:
        account = self._accounts.get(account_id)
        if account is None:
            raise NoSuchAccount(account_id)
        if account.balance + change < 0:
            raise ValueError(f"account {account_id} holds less than {-change}")
        account.balance += change
