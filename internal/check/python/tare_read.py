"""List the tests of a tree from the text of its files; nothing of the tree is imported.

    tare_main.py read DESCRIPTOR    request on stdin: {"nonce", "files": {path: base64}}

A test's digest covers its own code and what it rests on in its module, as far as names tell: its decorators, its class
without the other tests, and every statement of the module, other than tests, that binds a name which any of these use
(fixtures by the name of a parameter included), and so on from there. Fixtures that apply by themselves and set-up
functions always count. Comments, layout and line numbers do not.
"""

import ast
import base64
import hashlib
import sys

import tare_channel

ALWAYS = frozenset(
    "setup_module teardown_module setup_function teardown_function setUpModule tearDownModule pytestmark "
    "pytest_plugins pytest_generate_tests __getattr__".split()
)
DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


def statements(body):
    """The statements of body, those inside if, try, with and loops included."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(node, DEFS + (ast.ClassDef,)):
                yield from statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def binds(node):
    """The names that a statement binds in its scope."""
    if isinstance(node, DEFS + (ast.ClassDef,)):
        return {node.name} | fixture_names(node)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def fixture_names(node):
    """Names given to a fixture by its decorator: @pytest.fixture(name="other")."""
    return {
        k.value.value
        for d in node.decorator_list
        if isinstance(d, ast.Call)
        for k in d.keywords
        if k.arg == "name" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, str)
    }


def uses(node):
    """The names that a piece of code may refer to: names, parameters, and texts that could name a fixture."""
    out = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Name):
            out.add(n.id)
        elif isinstance(n, ast.arg):
            out.add(n.arg)
        elif isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.isidentifier():
            out.add(n.value)
    return out


def automatic(node):
    """Whether a statement takes part in tests that do not name it."""
    if binds(node) & ALWAYS or isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
        return True
    return any(
        isinstance(d, ast.Call) and any(k.arg == "autouse" for k in d.keywords)
        for d in getattr(node, "decorator_list", [])
    )


def dump(node):
    return ast.dump(node, include_attributes=False)


class Module:
    """One test file."""

    def __init__(self, path, tree):
        self.path = path
        self.classes, self.functions, self.rest = {}, {}, []
        for node in statements(tree.body):
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            if isinstance(node, DEFS) and node.name.startswith("test"):
                self.functions[node.name] = node
            else:
                self.rest.append(node)

    def nodes(self):
        """(id, digest) of each test."""
        for name, node in self.functions.items():
            yield "%s::%s" % (self.path, name), self.digest([node])
        for node in self.classes.values():
            yield from self.methods(node, node.name, [], self.classes)

    def methods(self, cls, name, outer, siblings):
        """The tests of a class, those that it takes over from classes of the same file included."""
        lineage = self.lineage(cls, siblings, [])
        unit = any(self.base_name(b).endswith("TestCase") for c in lineage for b in c.bases)
        members = {}
        for c in reversed(lineage):
            members.update((m.name, m) for m in statements(c.body) if isinstance(m, DEFS + (ast.ClassDef,)))
        if not unit and (not cls.name.startswith("Test") or "__init__" in members or "__new__" in members):
            return
        shared = outer + [self.shell(c) for c in lineage]
        for member, node in members.items():
            if isinstance(node, DEFS) and member.startswith("test"):
                yield "%s::%s::%s" % (self.path, name, member), self.digest([node] + shared)
            elif isinstance(node, ast.ClassDef) and not unit:
                inner = {m.name: m for m in members.values() if isinstance(m, ast.ClassDef)}
                yield from self.methods(node, "%s::%s" % (name, member), shared, inner)

    @staticmethod
    def base_name(base):
        return base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")

    def lineage(self, cls, siblings, seen):
        """cls and its base classes, as far as the file has them."""
        if cls in seen:
            return []
        out = [cls]
        for base in cls.bases:
            found = isinstance(base, ast.Name) and (siblings.get(base.id) or self.classes.get(base.id))
            if found:
                out += [c for c in self.lineage(found, siblings, seen + [cls]) if c not in out]
        return out

    @staticmethod
    def shell(cls):
        """A class without its tests and without the classes in it."""

        def keep(m):
            return not isinstance(m, ast.ClassDef) and not (isinstance(m, DEFS) and m.name.startswith("test"))

        return ast.ClassDef(
            name=cls.name,
            bases=cls.bases,
            keywords=cls.keywords,
            decorator_list=cls.decorator_list,
            body=[m for m in cls.body if keep(m)],
        )

    def digest(self, parts):
        """The hash of parts and of all that they rest on in the module."""
        h = hashlib.sha256()
        names = set().union(*(uses(p) for p in parts))
        taken = [n for n in self.rest if automatic(n)]
        names.update(*(uses(n) for n in taken))
        grown = True
        while grown:
            more = [n for n in self.rest if n not in taken and binds(n) & names]
            names.update(*(uses(n) for n in more))
            taken += more
            grown = bool(more)
        for node in parts + [n for n in self.rest if n in taken]:
            if isinstance(node, ast.ClassDef):
                node = self.shell(node)
            h.update(dump(node).encode("utf-8", "backslashreplace") + b"\n")
        return "sha256:" + h.hexdigest()


def main():
    request = tare_channel.take_request()
    send = tare_channel.open_channel(int(sys.argv[1]), request["nonce"])
    count = 0
    for path, data in request["files"].items():
        try:
            nodes = list(Module(path, ast.parse(base64.b64decode(data))).nodes())
        except (SyntaxError, ValueError, RecursionError, MemoryError) as why:
            send("broken", id=path, message=("%s: %s" % (type(why).__name__, why))[:500])
            continue
        for name, digest in nodes:
            send("node", id=name, digest=digest)
            count += 1
    send("end", items=count)
    tare_channel.finish(0)
