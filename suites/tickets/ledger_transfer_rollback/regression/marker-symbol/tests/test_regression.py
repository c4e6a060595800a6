def test_unknown_account_has_a_name():
    from ledger.account import UnknownAccount

    assert issubclass(UnknownAccount, ValueError)
