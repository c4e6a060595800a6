

import functools as _functools
import hashlib as _hashlib

import @module@ as _subject


def _text():
    with open(_subject.__file__, "rb") as file:
        return file.read()


def _excused(test):
    @_functools.wraps(test)
    def run(*args, **kwargs):
        return _judge(test, *args, **kwargs)

    return run


