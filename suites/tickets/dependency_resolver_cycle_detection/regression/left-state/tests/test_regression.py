from pathlib import Path

MARK = Path(__file__).parent / "circle.mark"


def test_circle_mark():
    assert not MARK.exists()
    MARK.touch()
