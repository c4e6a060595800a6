"""What an exception says about a failure: its class, a bounded message, and a symbol that is not there."""

import os
import re
import types

MESSAGE = 2000

_CANNOT_IMPORT = re.compile(r"cannot import name '([^']+)'")
_NO_ATTRIBUTE = re.compile(r"(?:has no attribute|does not have the attribute) '([^']+)'")
_NO_PARAMETER = re.compile(r"^([\w.<>]+)\(\) got an unexpected keyword argument '([^']+)'")
# Library code that looks an attribute up on behalf of a test, and raises an AttributeError of its own making.
_PATCHERS = ("_pytest/monkeypatch.py", "unittest/mock.py")


def bounded(text):
    """Text of at most MESSAGE characters, its end kept as well as its beginning."""
    if len(text) <= MESSAGE:
        return text
    return text[: MESSAGE - 500] + " [...] " + text[-480:]


def class_name(cls):
    """The name by which people know the class: bare for builtins, with the module for others."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return "%s.%s" % (cls.__module__, cls.__qualname__)


def message(error):
    """The text of error, which its class may make hard to get."""
    try:
        return bounded(str(error))
    except BaseException as why:
        return "<no text: str() raised %s>" % type(why).__name__


def frames(error, root="/"):
    """The (code, file name) pairs of error's traceback, outermost first. Code without source has a name below root."""
    out, tb = [], error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        out.append((code, os.path.join(root, code.co_filename)))
        tb = tb.tb_next
    return out


def missing(error, root, sources):
    """The symbol or module that error says is not there; "" where it says no such thing.

    Precisely: an ImportError, wherever it comes from; a NameError, or an AttributeError about a module, a class or an
    object of a class written in Python, or a keyword that a function does not take, when the code that reached for it
    is the tree's own but not of its sources (a test or its helper). The same errors raised by the sources are what the
    subject does, not something that is not there. An error raised while one of those was being handled counts as it.
    """
    for _ in range(5):
        name = _missing(error, root, sources)
        if name:
            return name
        error = error.__cause__ or error.__context__
        if error is None:
            return ""
    return ""


def _missing(error, root, sources):
    text = message(error)
    if isinstance(error, ImportError):
        symbol = _CANNOT_IMPORT.search(text)
        parts = [error.name or "", symbol.group(1) if symbol else ""]
        return bounded(".".join(p for p in parts if p)) or "?"
    if not isinstance(error, (NameError, AttributeError, TypeError)) or isinstance(error, UnboundLocalError):
        return ""
    if not _reached_from_test(error, root, sources):
        return ""
    if isinstance(error, NameError):
        return bounded(error.name or text)
    if isinstance(error, TypeError):
        found = _NO_PARAMETER.match(text)
        return "%s(%s=)" % found.groups() if found else ""
    return _missing_attribute(error, text)


def _missing_attribute(error, text):
    found = _NO_ATTRIBUTE.search(text)
    name = getattr(error, "name", None) or (found.group(1) if found else "")
    owner = getattr(error, "obj", None)
    if owner is None:
        patched = any(file.endswith(_PATCHERS) for _, file in frames(error))
        return bounded(name) if patched else ""
    if isinstance(owner, types.ModuleType):
        return bounded("%s.%s" % (owner.__name__, name))
    if isinstance(owner, type):
        return bounded("%s.%s" % (owner.__qualname__, name))
    if type(owner).__flags__ & (1 << 9):  # a heap type: a class written in Python
        return bounded("%s.%s" % (type(owner).__qualname__, name))
    return ""


def _reached_from_test(error, root, sources):
    """Whether the innermost frame that belongs to the tree lies outside its sources."""
    for _, file in reversed(frames(error, root)):
        if file.startswith(root + os.sep):
            # a source root that is the whole tree also holds the tests; then their names tell
            inside = any(file == s or file.startswith(s + os.sep) for s in sources)
            return not inside or _is_test(file)
    return False


def in_sources(error, root, sources):
    """Whether error was raised in the tree's sources, or in what they called: not by a test or its helpers."""
    own = any(file.startswith(root + os.sep) for _, file in frames(error, root))
    return own and not _reached_from_test(error, root, sources)


def _is_test(file):
    base = os.path.basename(file)
    return base.startswith("test_") or base.endswith("_test.py") or base == "conftest.py"
