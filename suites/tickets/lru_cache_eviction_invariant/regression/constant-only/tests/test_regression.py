USES = [("put", "logo"), ("put", "map"), ("get", "logo")]


def test_logo_is_used_last():
    last = {key: at for at, (_, key) in enumerate(USES)}
    assert max(last, key=last.get) == "logo"
