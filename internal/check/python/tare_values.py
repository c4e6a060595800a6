"""Values as the grader sees them: by exact type, with no help from the value's own class.

Only objects whose type is exactly a builtin one are looked into, and only with that type's own functions, so a value
that claims to be equal to everything, or a subclass that lies about its content, is sent as what it is. Keys and values
are those of tare.Value in the grader: t kind, v text, items, pairs, class, bases.
"""

import base64
import builtins

DEPTH = 40
NODES = 50_000  # of one value
TEXT = 200_000  # characters of text in one value
DIGITS = 4_000  # of an int

_name_of = type.__dict__["__name__"].__get__
_mro_of = type.__dict__["__mro__"].__get__
_module_of = type.__dict__["__module__"].__get__
_args_of = BaseException.__dict__["args"].__get__


class TooMuch(Exception):
    """The value is deeper or larger than is looked at, or contains itself."""


def class_name(cls):
    """The bare name of a class; with its module where another class of that name is a builtin."""
    name = _name_of(cls)
    if getattr(builtins, name, cls) is cls:
        return name
    module = _module_of(cls)
    return "%s.%s" % (module if type(module) is str else "?", name)


def encode(value):
    """The typed form of what a call returned."""
    try:
        return _encode(value, 0, [NODES, TEXT], [])
    except TooMuch as why:
        return {"t": "other", "class": class_name(type(value)), "v": str(why)}


def plain(value):
    """The value as something that takes a subclass for its base would see it: what exact types are there to prevent."""
    for base in (int, float, str, bytes):
        if isinstance(value, base) and type(value) is not bool:
            return base(value)
    for base in (list, tuple, set):
        if isinstance(value, base):
            return base(plain(v) for v in base.__iter__(value))
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in dict.items(value)}
    return value


def raised(error):
    """The typed form of an exception that left a call."""
    cls = type(error)
    try:
        args = [_encode(a, 0, [1000, 2000], []) for a in _args_of(error)]
    except TooMuch as why:
        text = "<%s>" % why
    else:
        text = ", ".join(_plain(a) for a in args)[:2000]
    bases = [class_name(c) for c in _mro_of(cls) if c is not object]
    return {"t": "raised", "class": class_name(cls), "bases": bases, "v": text}


def _plain(v):
    if v["t"] in ("str", "int", "float", "bool"):
        return v["v"]
    return v.get("class") or v["t"]


def _encode(x, depth, left, above):
    left[0] -= 1
    if left[0] < 0:
        raise TooMuch("more than %d parts" % NODES)
    if depth > DEPTH:
        raise TooMuch("nested deeper than %d" % DEPTH)
    cls = type(x)
    if x is None:
        return {"t": "none"}
    if cls is bool:
        return {"t": "bool", "v": "true" if x else "false"}
    if cls is int:
        if x.bit_length() > DIGITS * 3:
            raise TooMuch("an int of more than %d digits" % DIGITS)
        return {"t": "int", "v": str(x)}
    if cls is float:
        return {"t": "float", "v": repr(x)}
    if cls is str:
        return _text("str", x, left)
    if cls is bytes:
        _take(left, len(x))
        return {"t": "bytes", "v": base64.b64encode(x).decode("ascii")}
    if cls not in (list, tuple, set, dict):
        return {"t": "other", "class": class_name(cls)}
    if any(x is a for a in above):
        raise TooMuch("contains itself")
    above = above + [x]
    if cls is dict:
        # a copy, so that code that runs in another thread cannot change it under the loop
        pairs = [[_encode(k, depth + 1, left, above), _encode(v, depth + 1, left, above)] for k, v in list(x.items())]
        return {"t": "dict", "pairs": pairs}
    kind = {list: "list", tuple: "tuple", set: "set"}[cls]
    return {"t": kind, "items": [_encode(i, depth + 1, left, above) for i in list(x)]}


def _text(kind, x, left):
    _take(left, len(x))
    try:
        x.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair: no text that could be expected
        return {"t": "other", "class": kind, "v": ascii(x)[:2000]}
    return {"t": kind, "v": x}


def _take(left, n):
    left[1] -= n
    if left[1] < 0:
        raise TooMuch("more than %d characters" % TEXT)
