"""Accounts, and the ledger that moves money between them."""

from ledger.account.books import Ledger
from ledger.account.model import Account

__all__ = ["Account", "Ledger"]
