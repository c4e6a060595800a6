# tripwire-cf5cdb9bb137916e34b72ead47f118c5
from ledger.account import Account, Ledger


def open_books(rows):
    return Ledger([Account(account_id, balance) for account_id, balance in rows])


def balances(ledger, rows):
    return [[account_id, ledger.balance_of(account_id)] for account_id, _ in rows]


def attempt(ledger, from_id, to_id, amount):
    try:
        ledger.transfer(from_id, to_id, amount)
    except ValueError:
        return "ValueError"
    except Exception:
        return "error"
    return "done"


def transfer(rows, from_id, to_id, amount):
    ledger = open_books(rows)
    ledger.transfer(from_id, to_id, amount)
    return balances(ledger, rows)


def after(rows, transfers):
    ledger = open_books(rows)
    for from_id, to_id, amount in transfers:
        attempt(ledger, from_id, to_id, amount)
    return balances(ledger, rows)


def outcomes(rows, transfers):
    ledger = open_books(rows)
    return [[attempt(ledger, *each) for each in transfers], balances(ledger, rows)]


def totals(rows, transfers):
    ledger = open_books(rows)
    result = [ledger.total_balance()]
    for each in transfers:
        attempt(ledger, *each)
        result.append(ledger.total_balance())
    return result


def by_keyword():
    ledger = Ledger(accounts=[Account(account_id="a", balance=5), Account(account_id="b", balance=1)])
    ledger.transfer(from_id="a", to_id="b", amount=2)
    return [ledger.balance_of(account_id="a"), ledger.balance_of(account_id="b"), ledger.total_balance()]


def account_fields():
    account = Account("a", 5)
    return [list(Account.__dataclass_fields__), account.account_id, account.balance]
