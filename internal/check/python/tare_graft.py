"""Bring the seed's definitions back into a tree that has new ones beside them.

Each function, and each plain assignment, that a module or class of the seed makes and the tree makes otherwise under the
same name is replaced by the seed's. What the tree has more, helpers above all, stays. Names that the seed's code uses and
the tree no longer has come along. The result is text without comments: it is meant to be run.
"""

import ast
import copy
import os

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Definition:
    """A statement that gives a name in a module or class, and the list of statements that it stands in."""

    def __init__(self, node, body):
        self.node, self.body = node, body


def definitions(body, prefix=""):
    """The definitions of a body by qualified name and number, as a property and its setter have one name."""
    out = {}

    def put(name, node, body):
        n = 0
        while (name, n) in out:
            n += 1
        out[name, n] = Definition(node, body)

    def walk(body, prefix):
        for node in body:
            if isinstance(node, DEFS):
                put(prefix + node.name, node, body)
            elif isinstance(node, ast.ClassDef):
                walk(node.body, prefix + node.name + ".")
            elif assigned(node):
                put(prefix + assigned(node), node, body)
            else:
                for part in ("body", "orelse", "finalbody"):
                    walk(getattr(node, part, []), prefix)
                for handler in getattr(node, "handlers", []):
                    walk(handler.body, prefix)

    walk(body, prefix)
    return out


def assigned(node):
    """The one name that an assignment gives; "" for other statements, and for names like __all__."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or targets[0].id.startswith("__"):
        return ""
    return targets[0].id


def graft(text, seed, out, symbols, refused):
    trees, indexes = {}, {}
    for path, source in text.items():
        try:
            trees[path] = ast.parse(source, path)
        except UNREADABLE as why:
            if path in seed:
                refused[path] = "%s: %s" % (type(why).__name__, why)
            continue
        indexes[path] = definitions(trees[path].body)
    for path, source in sorted(seed.items()):
        try:
            origin = ast.parse(source, path)
        except UNREADABLE:
            continue
        placed = {}  # target file to the seed's code that went there
        for key, theirs in definitions(origin.body).items():
            target = place(key, path, indexes, isinstance(theirs.node, DEFS))
            if target and replace(indexes[target][key], theirs.node):
                placed.setdefault(target, []).append(theirs.node)
                symbols.append("%s:%s" % (target, key[0]))
        for target, nodes in placed.items():
            carry_members(trees[target], origin, nodes)
            carry_names(trees[target], origin, nodes, path, target)
            out[target] = (ast.unparse(ast.fix_missing_locations(trees[target])) + "\n").encode("utf-8", "surrogatepass")
    unique = list(dict.fromkeys(symbols))
    symbols[:] = unique


def place(key, path, indexes, is_function):
    """The file in which the tree defines key: the seed's, or for a function that has moved the only one that does."""
    if key in indexes.get(path, {}):
        return path
    if not is_function:
        return None
    others = [p for p, index in indexes.items() if key in index and isinstance(index[key].node, DEFS)]
    return others[0] if len(others) == 1 else None


def replace(ours, theirs):
    """Put the seed's statement in the place of ours; whether there was a difference."""
    if ast.dump(ours.node) == ast.dump(theirs):
        return False
    new = copy.deepcopy(theirs)
    if isinstance(new, DEFS) and isinstance(ours.node, DEFS) and parameters(new) < parameters(ours.node):
        new.args = ours.node.args  # callers of the tree pass the parameters that it has more
    ours.body[[n is ours.node for n in ours.body].index(True)] = new
    ours.node = new
    return True


def parameters(node):
    return {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}


def names_in(nodes):
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def binds(node):
    if isinstance(node, DEFS + (ast.ClassDef,)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def carry_members(tree, origin, nodes):
    """Give classes back the members that the seed's code uses and the tree's class has not."""
    used = {n.attr for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    ours = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    for cls in origin.body:
        if not isinstance(cls, ast.ClassDef) or cls.name not in ours:
            continue
        has = set().union(*(binds(m) for m in ours[cls.name].body))
        for member in cls.body:
            if binds(member) & used - has:
                ours[cls.name].body.append(copy.deepcopy(member))
                nodes.append(member)
                used |= {n.attr for n in ast.walk(member) if isinstance(n, ast.Attribute)}


def carry_names(tree, origin, nodes, path, target):
    """Give the module back the names that the seed's code uses and the tree has not, in the seed's order."""
    has = set().union(*(binds(n) for n in tree.body), set())
    need, carried = names_in(nodes), []
    grown = True
    while grown:
        more = [n for n in origin.body if n not in carried and (binds(n) & need) - has]
        need |= names_in(more)
        carried += more
        grown = bool(more)
    for node in [n for n in origin.body if n in carried]:
        tree.body.insert(place_for(node, tree.body), moved(copy.deepcopy(node), path, target))


def place_for(node, body):
    """Where in body a statement goes: as early as it can, after what it uses."""
    at, used = 0, names_in([node])
    for i, other in enumerate(body):
        docstring = i == 0 and isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant)
        future = isinstance(other, ast.ImportFrom) and other.module == "__future__"
        if docstring or future or binds(other) & used:
            at = i + 1
    return at


def moved(node, path, target):
    """A statement of path as it must read in target: a relative import starts from where the file is."""
    if isinstance(node, ast.ImportFrom) and node.level:
        node.level += len(target.split("/")) - len(path.split("/"))
    return node
