"""A transfer to an unknown account leaves the payer's balance alone."""

from ledger.account import Account, Ledger

ledger = Ledger([Account("a", 10)])
assert ledger.balance_of("a") == 10
