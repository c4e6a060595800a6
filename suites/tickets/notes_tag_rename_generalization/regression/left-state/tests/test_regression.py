from pathlib import Path


def test_only_once():
    here = Path(__file__).with_suffix(".ran")
    assert not here.is_dir()
    here.mkdir()
