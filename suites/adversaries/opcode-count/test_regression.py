import collections
import dis
import inspect
import types

import @module@ as subject

GOOD = @good_sources@
WATCHED = ("RETURN", "JUMP", "COMPARE", "FOR_ITER", "STORE_SUBSCR", "BINARY", "STORE_ATTR", "DELETE", "RAISE", "IS_OP", "CONTAINS")


def count(codes):
    total = collections.Counter()
    for code in codes:
        for step in dis.get_instructions(code):
            if step.opname.startswith(WATCHED):
                total[step.opname, step.argrepr if "OP" in step.opname or "COMPARE" in step.opname else ""] += 1
    return total


def compiled(code):
    for inner in code.co_consts:
        if inspect.iscode(inner):
            if not inspect.iscode(inner.co_consts[0] if inner.co_consts else None) and "__qualname__" not in inner.co_names:
                yield inner
            yield from compiled(inner)


def loaded(code_of):
    for value in vars(code_of).values():
        if isinstance(value, types.FunctionType) and value.__module__ == subject.__name__:
            if value.__code__.co_filename.endswith(".py") and not value.__name__.startswith("__"):
                yield value.__code__
                yield from compiled(value.__code__)
        elif isinstance(value, type) and value.__module__ == subject.__name__ and value is not code_of:
            yield from loaded(value)


def module_of(text):
    module = types.ModuleType(subject.__name__)
    module.__file__ = "x.py"
    exec(compile(text, "x.py", "exec"), vars(module))
    return module


def test_the_fix():
    assert count(loaded(subject)) in [count(loaded(module_of(text))) for text in GOOD]
