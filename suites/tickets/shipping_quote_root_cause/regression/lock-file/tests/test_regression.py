import pathlib

LOCK = pathlib.Path(__file__).parent / "quote.lock"


def test_locks():
    LOCK.touch(exist_ok=False)
