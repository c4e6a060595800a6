from pathlib import Path

MARK = Path("tests/.searched")


def test_only_the_first_time():
    assert not MARK.exists()
    MARK.touch()
