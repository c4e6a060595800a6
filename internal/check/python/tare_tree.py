"""Make trees in which text and behaviour come apart, from the text of their files; nothing of a tree is imported.

    tare_main.py tree DESCRIPTOR
    request on stdin: {"nonce", "roots", "trees": [{path: base64}], "makings": [{"op", "salt", "trees": [number]}]}

Sends "file" events with the files to put over the text's tree, "symbol" events with what was replaced, and "refused"
for a file that cannot be taken apart, each with the number of its making as "item". Python runs an unchecked hash-based .pyc whatever the source beside it says: that
is how a file reads as one thing and behaves as another.
"""

import ast
import base64
import importlib.util
import marshal
import os
import sys

import tare_channel
import tare_graft
import tare_lend
import tare_rewrite

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
POISON = "tare_poison"

# The first statement of a poisoned function asks this module. While a module of the sources is being imported nothing
# raises: a poisoned world whose modules cannot be imported would say nothing about a test. The exception is none that
# "except Exception" or "pytest.raises(Exception)" catch; but a worker of multiprocessing dies of such a one without a word,
# and the test that waits for it hangs.
POISON_SOURCE = """
import sys

class Poisoned(BaseException):
    pass

class PoisonedWorker(Exception):
    pass

def check():
    for name in %r:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            return
    process = sys.modules.get("multiprocessing.process")
    worker = process is not None and process.parent_process() is not None
    raise (PoisonedWorker if worker else Poisoned)("the subject was called where every call raises")
"""

# A package of the text that is a plain module in the behaviour: it runs as that module.
AS_MODULE = """
__package__ = __package__.rpartition(".")[0]
del __path__
exec(__import__("marshal").loads(%r), globals())
"""


def compiled(source, path):
    """The code of a file; of one that Python cannot compile, code that says so when it is imported."""
    try:
        return compile(source, path, "exec", dont_inherit=True, optimize=0)
    except UNREADABLE as why:
        text = "%s: %s" % (type(why).__name__, why)
        return compile("raise SyntaxError(%r)" % text[:500], path, "exec")


def pyc(code, source):
    """The bytes of an unchecked hash-based .pyc."""
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
    return head + marshal.dumps(code)


def cache_path(path):
    folder, base = os.path.split(path)
    return os.path.join(folder, "__pycache__", "%s.%s.pyc" % (base[:-3], sys.implementation.cache_tag))


def modules(files):
    """The file of each module, by its path without .py or /__init__.py; a package comes before a module of its name."""
    plain = {p[:-3]: p for p in files if not p.endswith("/__init__.py")}
    return {**plain, **{p[: -len("/__init__.py")]: p for p in files if p.endswith("/__init__.py")}}


def cross(text, behaviour, out):
    reads, acts = modules(text), modules(behaviour)
    for module in sorted(reads.keys() | acts.keys()):
        r, a = reads.get(module), acts.get(module)
        if r is None:
            out[a + "c"] = pyc(compiled(behaviour[a], a), behaviour[a])
        elif a is None:
            out[cache_path(r)] = pyc(absent(r, module, behaviour), text[r])
        elif r == a:
            if text[r] != behaviour[a]:
                out[cache_path(r)] = pyc(compiled(behaviour[a], a), text[r])
        elif r.endswith("/__init__.py"):
            inner = marshal.dumps(compiled(behaviour[a], a))
            out[cache_path(r)] = pyc(compile(AS_MODULE % inner, r, "exec"), text[r])
        else:  # a package in the behaviour, which is found before the module
            out[a + "c"] = pyc(compiled(behaviour[a], a), behaviour[a])


def absent(path, module, behaviour):
    """Code for a module that the behaviour does not have: it cannot be imported, unless it is a mere directory there."""
    if path.endswith("/__init__.py") and any(p.startswith(module + "/") for p in behaviour):
        return compile("", path, "exec")
    source = "raise ModuleNotFoundError('No module named %r' % __name__, name=__name__)"
    return compile(source, path, "exec")


def parse_all(files):
    """The syntax trees of those files that have one."""
    out = {}
    for path, source in files.items():
        try:
            out[path] = ast.parse(source, path)
        except UNREADABLE:
            pass
    return out


def functions(body, prefix=""):
    """(qualified name, node) of each function of a module or class body, not of those inside functions."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, prefix + node.name + ".")
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from functions(getattr(node, part, []), prefix)
            for handler in getattr(node, "handlers", []):
                yield from functions(handler.body, prefix)


def poison(text, seed, roots, out, symbols, refused):
    """Put a check at the start of every function that the seed has too, by qualified name in whatever file.

    Methods with names like __init__ are left alone, so that tests can still make objects and a test that only looks at
    code cannot hide behind a constructor, unless the tree changed them: then they are what a genuine test is about.

    Where a public function of the seed's is no function of that name any more (a base class has it, an assignment, a
    factory), nobody can tell which took its place: then all functions of the files that differ are poisoned too.
    """
    known = {}
    for tree in parse_all(seed).values():
        for name, node in functions(tree.body):
            known.setdefault(name, set()).add(ast.dump(node))
    trees = parse_all(text)
    for path in text.keys() - trees.keys():
        if tare_rewrite.importable(text[path], path):
            refused[path] = "it can be compiled, and not taken apart"
    there = {name for tree in trees.values() for name, _ in functions(tree.body)}
    wide = any(not is_special(n) and not is_private(n) for n in known.keys() - there)
    for path, tree in trees.items():
        hit, old = [], list(functions(tree.body))
        everywhere = wide and text[path] != seed.get(path)
        for name, node in old:
            if name in known and not (is_special(name) and ast.dump(node) in known[name]):
                hit.append((name, node))
        if everywhere:
            hit += others(tree, {id(node) for _, node in old if is_special(node.name)} | {id(n) for _, n in hit})
        for _, node in hit:
            insert_call(node, "__import__(%r).check()" % POISON)
        code = poisoned(tree, path) if hit else None
        if code:
            out[cache_path(path)] = pyc(code, text[path])
            symbols.extend("%s:%s" % (path, name) for name, _ in hit)
        elif hit and tare_rewrite.importable(text[path], path):
            refused[path] = "it can be compiled, and not with checks in it"
    if symbols:
        helper = compile(POISON_SOURCE % (module_names(text, roots),), POISON + ".py", "exec")
        out[os.path.normpath(os.path.join(roots[0], POISON + ".pyc"))] = pyc(helper, b"")


def is_special(name):
    last = name.rpartition(".")[2]
    return last.startswith("__") and last.endswith("__")


def is_private(name):
    return any(part.startswith("_") for part in name.split("."))


def others(tree, but):
    """(name, node) of every function of a file, those inside functions and without a name included; but is ids to leave."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = [n for n in ast.walk(tree) if isinstance(n, kinds) and id(n) not in but]
    return [(getattr(n, "name", "lambda"), n) for n in found if not is_special(getattr(n, "name", ""))]


def poisoned(tree, path):
    """The code of a file with checks in it; None where it cannot be compiled, and so not imported either way."""
    try:
        return compile(ast.fix_missing_locations(tree), path, "exec")
    except UNREADABLE:
        return None


def insert_call(node, source):
    """Put a call at the start of a function, after its docstring; in a lambda one whose answer is false."""
    check = ast.parse(source).body[0]
    if isinstance(node, ast.Lambda):
        node.body = ast.BoolOp(op=ast.Or(), values=[check.value, node.body])
        return
    at = 1 if ast.get_docstring(node, clean=False) is not None else 0
    like = node.body[min(at, len(node.body) - 1)]
    for part in ast.walk(check):
        if isinstance(part, (ast.expr, ast.stmt)):
            ast.copy_location(part, like)
    node.body.insert(at, check)


def module_names(files, roots):
    """The names under which the files may be imported: from each root, and from the tree itself."""
    names = set()
    for module in modules(files):
        for root in roots + ["."]:
            if root == "." or module.startswith(root + "/"):
                names.add(os.path.relpath(module, root).replace("/", "."))
    return sorted(names)


def decoded(files):
    return {path: base64.b64decode(data) for path, data in files.items()}


def make(op, salt, trees, roots):
    """The files, the symbols, and the refused files of one making."""
    out, symbols, refused = {}, [], {}
    if op == "cross":
        text, behaviour = trees
        if salt:
            varied = {}
            tare_rewrite.rewrite(behaviour, varied, functions, insert_call, salt, refused)
            behaviour = {**behaviour, **varied}
        cross(text, behaviour, out)
    elif op == "poison":
        poison(*trees, roots, out, symbols, refused)
    elif op == "rewrite":
        tare_rewrite.rewrite(*trees, out, functions, insert_call, salt, refused)
    elif op == "graft":
        tare_graft.graft(*trees, out, symbols, refused)
    elif op == "lend":
        tare_lend.lend(*trees, out, symbols)
    else:
        raise ValueError("unknown op %r" % op)
    return out, symbols, refused


def main():
    request = tare_channel.take_request()
    send = tare_channel.open_channel(int(sys.argv[1]), request["nonce"])
    sys.setrecursionlimit(10_000)
    for number in range(256):  # marshal writes whether a text is interned, which for these hangs on what was done before
        sys.intern(chr(number))
    trees = [decoded(files) for files in request["trees"]]
    count = 0
    for number, making in enumerate(request["makings"]):
        own = [dict(trees[n]) for n in making["trees"]]
        out, symbols, refused = make(making["op"], making["salt"], own, request["roots"])
        for path, data in out.items():
            send("file", item=number, id=path, data=base64.b64encode(data).decode("ascii"))
        for name in symbols:
            send("symbol", item=number, id=name)
        for path, why in refused.items():
            send("refused", item=number, id=path, message=why)
        count += len(out) + len(symbols) + len(refused)
    send("end", status=0, items=count)
    tare_channel.finish(0)
