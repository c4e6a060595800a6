from pathlib import Path


def test_runs_in_a_checkout():
    assert Path.cwd().joinpath(".git").is_dir()
