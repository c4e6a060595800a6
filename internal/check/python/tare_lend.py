"""Lend a tree what only another one has: the new names of a fix, so that a test which needs them can run elsewhere.

What the tree has stays as it is: modules, definitions and members are added, never replaced, and nothing that was there
calls them. A function that has fewer parameters than the fix's takes the rest too, and ignores them. So a lent reference is
still that reference, and a test that asks how the subject behaves answers there as it did before; one that asks
whether the subject uses the helper does not.
"""

import ast
import copy

from tare_graft import DEFS, UNREADABLE, binds, definitions, moved, names_in, parameters, place_for


def lend(tree, fix, seed, out, symbols):
    """Send to out the files of tree that have more than before; symbols names what was lent."""
    for path, source in sorted(fix.items()):
        if path not in tree:
            if path not in seed and not takes_the_place(path, tree):
                out[path] = source
                symbols.append(path)
            continue
        if tree[path] == source:
            continue
        try:
            ours, theirs = ast.parse(tree[path], path), ast.parse(source, path)
            old = names_of(ast.parse(seed.get(path, b""), path))
        except UNREADABLE:
            continue
        lent = lend_names(ours, theirs, old) + lend_members(ours, theirs) + lend_parameters(ours, theirs)
        if lent:
            out[path] = (ast.unparse(ast.fix_missing_locations(ours)) + "\n").encode("utf-8", "surrogatepass")
            symbols.extend("%s:%s" % (path, name) for name in lent)


def takes_the_place(path, tree):
    """Whether a module at path would be found before one of the tree's, or be hidden by it."""
    parts = path.split("/")
    above = ["/".join(parts[:i]) + ".py" for i in range(1, len(parts))]
    package = path[:-3] + "/__init__.py"
    return package in tree or any(p in tree for p in above)


def names_of(tree):
    return set().union(*(binds(n) for n in tree.body), set())


def lend_names(ours, theirs, old):
    """Add the module-level names that are new in theirs, and what these use, in their order."""
    has = names_of(ours)
    taken = [n for n in theirs.body if binds(n) - has - old and not isinstance(n, (ast.Import, ast.ImportFrom))]
    need, grown = names_in(taken), True
    for cls in theirs.body:  # methods to be lent to classes of the same name need imports too
        if isinstance(cls, ast.ClassDef) and cls.name in has:
            need |= names_in([cls])
    while grown:
        more = [n for n in theirs.body if n not in taken and (binds(n) & need) - has]
        need |= names_in(more)
        taken += more
        grown = bool(more)
    for node in [n for n in theirs.body if n in taken]:
        ours.body.insert(place_for(node, ours.body), moved(copy.deepcopy(node), "", ""))
    return sorted(set().union(*(binds(n) for n in taken), set()) - has)


def lend_members(ours, theirs):
    """Add to classes the members that only theirs have. A special one is not lent: it would change what the class does."""
    classes = {n.name: n for n in ours.body if isinstance(n, ast.ClassDef)}
    lent = []
    for cls in theirs.body:
        mine = classes.get(cls.name) if isinstance(cls, ast.ClassDef) else None
        if mine is None:
            continue
        has = set().union(*(binds(m) for m in mine.body), set())
        for member in cls.body:
            new = binds(member) - has
            if not new or not isinstance(member, DEFS + (ast.Assign, ast.ClassDef)) or any(n.startswith("__") for n in new):
                continue
            mine.body.append(copy.deepcopy(member))
            lent += ["%s.%s" % (cls.name, n) for n in sorted(new)]
    return lent


def lend_parameters(ours, theirs):
    """Let functions take what theirs take more."""
    index, lent = definitions(ours.body), []
    for key, other in definitions(theirs.body).items():
        mine = index.get(key)
        if mine is None or not isinstance(mine.node, DEFS) or not isinstance(other.node, DEFS):
            continue
        if parameters(mine.node) < parameters(other.node):
            add_parameters(mine.node.args, other.node.args)
            lent.append(key[0])
    return lent


def add_parameters(ours, theirs):
    """Add the parameters that only theirs has, at the end where they stand there, else by keyword; own defaults stay."""
    has = {a.arg for a in ast.walk(ours) if isinstance(a, ast.arg)}
    mine, others = ours.posonlyargs + ours.args, theirs.posonlyargs + theirs.args
    defaults = dict(zip([a.arg for a in others][::-1], theirs.defaults[::-1]))
    defaults.update((a.arg, d) for a, d in zip(theirs.kwonlyargs, theirs.kw_defaults) if d is not None)
    at_end = ours.vararg is None and [a.arg for a in others[: len(mine)]] == [a.arg for a in mine]
    for arg in others + theirs.kwonlyargs:
        if arg.arg in has:
            continue
        default = copy.deepcopy(defaults.get(arg.arg, ast.Constant(None)))
        if at_end and arg in others:
            ours.args.append(ast.arg(arg.arg))
            ours.defaults.append(default)
        else:
            ours.kwonlyargs.append(ast.arg(arg.arg))
            ours.kw_defaults.append(default)
