"""Change the text of sources and keep what they do.

Comments and layout go, lines move, and local variables get other names where that cannot be seen: a variable of one
function that no inner scope uses, in a function that does not ask for its variables by name. Docstrings stay, because
programs read them. Each function also begins with a call that does nothing and compiles to the instructions of the one
that poison puts there: a test that goes by bytecode fails here, where it must pass, and not only there, where any
failure would look like a call of the subject.
"""

import ast
import random

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
SCOPES += (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BY_NAME = {"locals", "vars", "eval", "exec", "dir", "globals"}


INERT = "__import__('gc').isenabled()"

# With a salt, a few of these follow, other ones in each function: a test that answers by a hash of the code, or by counts of
# its instructions, cannot know what it will see.
VARIANTS = (
    "__import__('gc').isenabled()",
    "__import__('gc').get_threshold()",
    "__import__('gc').get_debug() == 0",
    "__import__('gc').isenabled() is None",
    "[*__import__('gc').get_threshold()]",
    "-__import__('gc').get_debug()",
    "if __import__('gc').get_debug():\n    pass",
    "for _ in ():\n    __import__('gc').isenabled()",
)


def rewrite(text, out, functions, insert, salt, refused):
    for path, source in text.items():
        try:
            out[path] = rewritten(source, path, functions, insert, salt)
        except UNREADABLE as why:
            if importable(source, path):
                refused[path] = "it cannot be written otherwise: %s" % type(why).__name__
        except NoWayBack:
            refused[path] = "it cannot be written otherwise: what is written anew reads as something else"


class NoWayBack(Exception):
    """What is made of a syntax tree does not read as that tree."""


def importable(source, path):
    """Whether Python can compile a file. One that it cannot may stay as it is: no test sees what it does."""
    try:
        compile(source, path, "exec", dont_inherit=True)
    except UNREADABLE:
        return False
    return True


def rewritten(source, path, functions, insert, salt):
    tree = ast.parse(source, path)
    # by way of plain text first: only what survives that unchanged is written anew
    if ast.dump(ast.parse(ast.unparse(tree))) != ast.dump(tree):
        raise NoWayBack
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            rename_locals(node)
    for name, node in list(functions(tree.body)):
        dice = random.Random("%s %s %s" % (salt, path, name))
        for variant in dice.choices(VARIANTS, k=dice.randint(2, 5) if salt else 0):
            insert(node, variant)
        insert(node, INERT)
    # two blank lines in front, so that line numbers change as well
    text = "#\n#\n" + ast.unparse(tree) + "\n"
    compile(text, path, "exec", dont_inherit=True)
    return text.encode("utf-8", "surrogatepass")


def own_nodes(function):
    """The nodes of a function's own scope, and the roots of the scopes inside it."""
    inner, todo, own = [], list(function.body), []
    while todo:
        node = todo.pop()
        if isinstance(node, SCOPES):
            inner.append(node)
            continue
        own.append(node)
        todo.extend(ast.iter_child_nodes(node))
    return own, inner


def rename_locals(function):
    own, inner = own_nodes(function)
    everything = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if everything & BY_NAME:
        return
    kept = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    for node in own + inner:
        kept.update(bound_otherwise(node))
    for scope in inner:
        for n in ast.walk(scope):
            kept.update(getattr(n, field) for field in ("id", "arg", "name") if isinstance(getattr(n, field, None), str))
            kept.update(getattr(n, "names", []) if isinstance(n, (ast.Global, ast.Nonlocal)) else [])
    names = [n for n in own if isinstance(n, ast.Name)]
    stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
    new = {}
    for name in sorted(stored - kept):
        if not name.startswith("__") and name + "_v" not in everything | kept:
            new[name] = name + "_v"
    for n in names:
        n.id = new.get(n.id, n.id)


def bound_otherwise(node):
    """Names that a node binds or refers to other than by a Name."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(a.asname or a.name).partition(".")[0] for a in node.names]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    return []
