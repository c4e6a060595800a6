import inspect
import types

import @module@ as subject

GOOD = @good_sources@


def fingerprint(code):
    return code.co_code, code.co_names, repr([c for c in code.co_consts if not inspect.iscode(c)])


def compiled(code):
    out = set()
    for inner in code.co_consts:
        if inspect.iscode(inner):
            out.add(fingerprint(inner))
            out |= compiled(inner)
    return out


def loaded(space):
    out = set()
    for value in vars(space).values():
        if isinstance(value, property):
            value = value.fget
        value = getattr(value, "__func__", value)
        if isinstance(value, types.FunctionType) and value.__code__.co_filename.endswith(".py"):
            if value.__module__ == subject.__name__ and not value.__name__.startswith("__"):
                out.add(fingerprint(value.__code__))
        elif isinstance(value, type) and value.__module__ == subject.__name__ and value is not space:
            out |= loaded(value)
    return out


def test_the_fix():
    assert any(loaded(subject) <= compiled(compile(text, "x", "exec")) for text in GOOD)
