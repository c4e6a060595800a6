from pathlib import Path

COUNTER = Path("runs.txt")


def test_runs_once():
    runs = int(COUNTER.read_text()) if COUNTER.exists() else 0
    COUNTER.write_text(str(runs + 1))
    assert runs == 0
