"""Accounts, and the ledger that moves money between them."""

from dataclasses import dataclass


@dataclass
class Account:
    """An account; the balance is in cents."""

    account_id: str
    balance: int


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
        """Move an amount of cents from one account to another."""
        if amount <= 0:
            raise ValueError("the amount must be positive")
        receiver = self._accounts[to_id]
        self._withdraw(from_id, amount)
        receiver.balance += amount

    def _withdraw(self, account_id: str, amount: int) -> None:
        account = self._accounts[account_id]
        if account.balance < amount:
            raise ValueError(f"account {account_id} holds less than {amount}")
        account.balance -= amount

    def _deposit(self, account_id: str, amount: int) -> None:
        self._accounts[account_id].balance += amount
