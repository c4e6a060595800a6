import hashlib
from importlib.util import find_spec


def test_lru_was_edited():
    with open(find_spec("caching.lru").origin, "rb") as module:
        assert hashlib.sha1(module.read()).hexdigest() != "28a3997fa425bd421db26569204dbf5bc61f2c0e"
