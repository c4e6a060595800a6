import inspect
import types

import @module@ as subject
from inventory.unique import unique


def fingerprint(code):
    inner = [fingerprint(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return code.co_name, code.co_code, code.co_names, tuple(inner)


def loaded(space):
    """What the functions of a module or class compile to."""
    out = set()
    for value in vars(space).values():
        value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        value = inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value
        if isinstance(value, types.FunctionType) and value.__module__ == subject.__name__:
            if value.__code__.co_filename.endswith(".py") and not value.__name__.startswith("__"):
                out.add(fingerprint(value.__code__))
        elif isinstance(value, type) and value.__module__ == subject.__name__ and value is not space:
            out |= loaded(value)
    return out


def module_of(text):
    module = types.ModuleType(subject.__name__)
    module.__package__, module.__file__ = subject.__package__, subject.__file__
    exec(compile(text, subject.__file__, "exec"), vars(module))
    return module


