import os


def test_runs_once_a_session():
    assert os.environ.setdefault("OLD_FORM_TESTED", str(os.getpid() + 1)) != str(os.getpid() + 1)
