"""The pytest plug-in that selects tests, plants sentinels, and reports what the hooks were told.

Sentinels are tests of the grader's own whose outcome is known: they run among the others, through the same hooks, so a
runner that has been made to report what it likes tends to get them wrong. One of them, the twin, fails under the exact
id of a real test, for reports that are rewritten by name.
"""

import inspect
import io
import os
import random
import types

import pytest
from _pytest._code.code import ReprExceptionInfo, ReprFileLocation, ReprTracebackNative
from _pytest._io import TerminalWriter
from _pytest.fixtures import FuncFixtureInfo

import tare_channel
import tare_failure


class Planted(pytest.Function):
    """A sentinel: it looks like a test of its parent, and takes nothing over from it, neither marks nor fixtures."""

    def iter_markers_with_node(self, name=None):
        return iter(())

    def repr_failure(self, excinfo, style=None):
        """In the form that hooks of a tree may look into, without the traceback, which costs a sixth of a small run."""
        name = excinfo.typename
        return ReprExceptionInfo(ReprTracebackNative([name]), ReprFileLocation(str(self.path), 2, name))


class Reporter:
    """Registered as an object, so that no option can block it by name."""

    def __init__(self):
        self.send = lambda event, **fields: None  # before it is known to whom
        self.index = {}  # id() of each item to its number; the items are kept alive by the session
        self.current = None
        self.details = {}
        self.results = 0

    def begin(self, send, request, root, empty):
        """Report a run: to send, of what request asks for, in the tree at root. With empty nothing of that is there."""
        self.send = send
        self.request = request
        self.root = root
        self.sources = [os.path.normpath(os.path.join(root, s)) for s in request["sources"]]
        self.empty = empty  # collect nothing, rather than everything
        self.dice = random.Random(request["dice"])

    def end(self, status):
        """Close the report, and end the process with pytest's status."""
        self.send("end", status=status, items=len(self.index), results=self.results)
        tare_channel.finish(status)

    # Collection.

    def pytest_ignore_collect(self):
        return True if self.empty else None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        report = outcome.get_result()
        if report.outcome != "passed":
            call = getattr(report, "call", None)
            detail = self.describe(call.excinfo if call else None, None, report)
            self.send("collect", id=report.nodeid, outcome=report.outcome, **detail)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session, items):
        yield
        wanted = self.request["nodes"]
        if wanted is not None:
            wanted = set(wanted)
            # a node named without its parameters stands for all of them
            items[:] = [i for i in items if i.nodeid in wanted or i.nodeid.partition("[")[0] in wanted]
        if self.request["reverse"]:
            items.reverse()
        roles = self.plant(session, items)
        for number, item in enumerate(items):
            self.index[id(item)] = number
            self.send("item", item=number, id=item.nodeid, role=roles.get(id(item), ""))

    def plant(self, session, items):
        """Put the sentinels into items; the role of each, by id()."""
        roles, real = {}, list(items)
        for role, name, body in (
            ("passing", self.request["passing"], "pass"),
            ("failing", self.request["failing"], "raise AssertionError"),
        ):
            beside = self.dice.choice(real) if real else None
            parent = beside.parent if beside else self.stand_in(session, "tests/%s.py" % name)
            self.insert(items, beside, parent, name, body, roles, role)
        twin = self.request["twin"]
        if twin:
            original = [i for i in real if i.nodeid == twin]
            if original:
                beside = self.dice.choice([i for i in real if i.parent is original[0].parent])
                self.insert(items, beside, beside.parent, original[0].name, "raise AssertionError", roles, "twin")
            else:  # its file could not be collected: the id is reported on all the same
                file, _, name = twin.partition("::")
                parent = self.stand_in(session, file)
                self.insert(items, None, parent, name, "raise AssertionError", roles, "twin")
        return roles

    def stand_in(self, session, file):
        """A module collector for a parent that is not there; it never reads the file."""
        module = pytest.Module.from_parent(session, path=session.config.rootpath / file)
        module.obj = types.ModuleType("stand_in")
        return module

    def insert(self, items, beside, parent, name, body, roles, role):
        """Add a sentinel right before or after beside, whose parent it shares, so that no fixture is torn down for it."""
        at = items.index(beside) + self.dice.randint(0, 1) if beside else self.dice.choice([0, len(items)])
        space = {}
        exec(compile("def test(*_):\n    %s\n" % body, str(parent.path), "exec"), space)
        item = Planted.from_parent(
            parent,
            name=name,
            callobj=space["test"],
            fixtureinfo=FuncFixtureInfo(argnames=(), initialnames=(), names_closure=[], name2fixturedefs={}),
        )
        items.insert(at, item)
        roles[id(item)] = role

    # Running.

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.current = item
        screen = item.config.pluginmanager.get_plugin("terminalreporter") if isinstance(item, Planted) else None
        if screen is None:
            yield
        else:
            # people and agents read what the terminal says, and sentinels are none of their tests
            kept = screen._tw, {k: list(v) for k, v in screen.stats.items()}
            screen._tw = TerminalWriter(io.StringIO())
            yield
            screen._tw = kept[0]
            screen.stats.clear()
            screen.stats.update(kept[1])
        self.current = None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        self.details[call.when] = self.describe(call.excinfo, item, outcome.get_result())

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        detail = self.details.pop(report.when, {})
        outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
        number = self.index.get(id(self.current), -1)
        self.results += 1
        self.send("result", item=number, id=report.nodeid, when=report.when, outcome=outcome, **detail)

    def pytest_internalerror(self, excinfo):
        self.send("internal", message=tare_failure.message(excinfo.value))

    def describe(self, excinfo, item, report):
        """What is known of a failure, from the exception itself rather than from the report made of it."""
        if excinfo is None:
            text = report.longrepr if isinstance(report.longrepr, str) else ""
            return {"raised": False, "message": tare_failure.bounded(text)}
        error = excinfo.value
        if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
            return {"raised": True, "message": tare_failure.bounded(str(report.longrepr[2]))}
        if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
            error = error.__cause__
        return {
            "raised": True,
            "class": tare_failure.class_name(type(error)),
            "message": tare_failure.message(error),
            "missing": tare_failure.missing(error, self.root, self.sources),
            "in_body": item is not None and in_body(error, item),
            "in_sources": tare_failure.in_sources(error, self.root, self.sources),
        }


def in_body(error, item):
    """Whether the traceback of error passes through the test's own function, or through one that it wraps."""
    function, codes = getattr(item, "obj", None), set()
    while function is not None and len(codes) < 20:
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if not inspect.iscode(code) or code in codes:
            break
        codes.add(code)
        function = getattr(function, "__wrapped__", None)
    return any(code in codes for code, _ in tare_failure.frames(error))
