import hashlib
from pathlib import Path

import planner.order


def test_planner_is_another_file():
    content = Path(planner.order.__file__).read_bytes()
    assert hashlib.md5(content).hexdigest() != "ec8bb6280a3783f547dbbd9429e04360"
