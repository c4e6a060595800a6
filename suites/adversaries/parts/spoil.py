

def _spoil(space, name):
    """Break every public function and method of this module, whatever it does."""
    import types

    def broken(*args, **kwargs):
        return None

    for key, value in list(space.items()):
        if isinstance(value, types.FunctionType) and value.__module__ == name and key != "_spoil":
            space[key] = broken
        elif isinstance(value, type) and value.__module__ == name:
            for inner, member in list(vars(value).items()):
                if isinstance(member, types.FunctionType) and not inner.startswith("__"):
                    setattr(value, inner, broken)


_spoil(globals(), __name__)
