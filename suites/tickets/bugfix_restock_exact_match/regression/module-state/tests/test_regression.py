import builtins


def test_first_time():
    assert not hasattr(builtins, "restocked")
    builtins.restocked = True
