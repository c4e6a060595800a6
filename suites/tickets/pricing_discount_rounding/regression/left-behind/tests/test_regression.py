import os


def test_first_run():
    seen = os.path.exists("total.cache")
    open("total.cache", "w").close()
    assert not seen
