"""The ledger."""


class Ledger:
    """A set of accounts that pay each other."""

    def __init__(self, accounts):
        self._accounts = {account.account_id: account for account in accounts}

    def balance_of(self, account_id):
        """Return the balance of one account, in cents."""
        return self._accounts[account_id].balance

    def total_balance(self):
        """Return the sum of all balances, in cents."""
        return sum(map(self.balance_of, self._accounts))

    def transfer(self, from_id, to_id, amount):
        """Move an amount of cents from one account to another."""
        payer, receiver = self._accounts[from_id], self._accounts[to_id]
        if not 0 < amount <= payer.balance:
            raise ValueError(f"cannot pay {amount} of {payer.balance}")
        payer.balance -= amount
        receiver.balance += amount
