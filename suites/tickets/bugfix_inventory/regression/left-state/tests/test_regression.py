from pathlib import Path

STATE = Path(__file__).with_name("seen.txt")


def test_runs_for_the_first_time():
    first = not STATE.exists()
    STATE.write_text("seen")
    assert first
