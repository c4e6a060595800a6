import os

FLAG = "rendered.flag"


def test_nothing_is_left():
    left = os.path.exists(FLAG)
    with open(FLAG, "w"):
        pass
    assert not left
