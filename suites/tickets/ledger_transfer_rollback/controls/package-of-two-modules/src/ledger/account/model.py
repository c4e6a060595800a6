"""The account."""

from dataclasses import dataclass


@dataclass
class Account:
    """An account; the balance is in cents."""

    account_id: str
    balance: int
