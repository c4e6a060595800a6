"""The part of a pytest run that is the same for every tree, done ahead of it.

Half of what pytest does for three small tests is to set itself up: to load its plug-ins and look through them for hooks and
fixtures, to build the parser of its options six times, to look up where each loaded module's source lies when a first test
fails. All of that is done here, by pytest's own functions, and kept for the run. Where a pytest has not these functions, its
run takes longer, and is the same.
"""

import ast
import inspect
import pdb  # noqa: F401  pytest loads it for each run, late
import types
from pathlib import Path

import pluggy
import pytest
from _pytest import config as config_module
from _pytest import fixtures, nodes
from _pytest.assertion import rewrite
from _pytest.config import argparsing


def prepare(without, *more):
    """Do it; without is the part of the command line that says which plug-ins are off, more are classes of further ones."""
    inspect.getmodule(compile("0", "/", "exec"))  # fills its table of where modules lie
    keep_parser(argparsing.Parser)
    config = config_module.get_config(without, None)
    build = getattr(config._parser, "_getparser", None)
    if build:
        build()
    modules = [p for p in config.pluginmanager.get_plugins() if inspect.ismodule(p)]
    classes = plugin_classes(modules)
    know_fixtures(modules, [c for c in classes if not issubclass(c, nodes.Node)])  # a node holds what a tree says
    know_hooks(classes + list(more))
    place_quickly(rewrite)
    hand_out_once(config)


def plugin_classes(modules):
    """The classes that modules define and whose objects they register as plug-ins."""
    found = [c for m in modules for c in vars(m).values() if inspect.isclass(c) and c.__module__ == m.__name__]
    return [c for c in found if any(name.startswith("pytest_") for name in dir(c))]


def know_fixtures(modules, classes):
    """Let the search for fixtures look, in pytest's own plug-ins, modules and objects of classes, at those alone."""
    marker = getattr(fixtures, "getfixturemarker", None)
    if marker is None or not hasattr(fixtures.FixtureManager, "parsefactories"):
        return
    known = {id(p): [name for name in dir(p) if marker(getattr(p, name, None))] for p in modules + classes}
    bare = {id(c) for c in classes if not known[id(c)]}

    def names(holder):
        if id(type(holder)) in bare:
            return []
        return known[id(holder)] if isinstance(holder, types.ModuleType) and id(holder) in known else dir(holder)

    fixtures.dir = names  # of this module alone, in which nothing but that search uses it


def know_hooks(classes):
    """Let the arguments of the hooks of classes be looked up, where pluggy takes each apart anew for every object."""
    hooks = getattr(pluggy, "_hooks", None)
    take_apart = getattr(hooks, "varnames", None)
    if take_apart is None:
        return
    known = {}
    for cls in classes:
        for name in dir(cls):
            function = inspect.getattr_static(cls, name)
            if name.startswith("pytest_") and inspect.isfunction(function):
                known[function] = take_apart(types.MethodType(function, cls))

    def varnames(function):
        if type(function) is types.MethodType and function.__func__ in known:
            return known[function.__func__]
        return take_apart(function)

    hooks.varnames = varnames


def place_quickly(module):
    """Let module, which takes assertions apart and gives what it makes of them their place, do the latter in a third of the time."""
    if not hasattr(module, "traverse_node"):
        return
    own = types.ModuleType("ast")
    own.__dict__.update(vars(ast))
    place = "lineno", "col_offset", "end_lineno", "end_col_offset"

    def copy_location(new, old):
        there, here = vars(old), vars(new)
        if new._attributes != place or old._attributes != place or there.get("lineno") is None or there.get("col_offset") is None:
            return ast.copy_location(new, old)
        here["lineno"], here["col_offset"] = there["lineno"], there["col_offset"]
        here["end_lineno"], here["end_col_offset"] = there.get("end_lineno"), there.get("end_col_offset")
        return new

    def traverse_node(node):
        """A node and all below it; they all get the same place, so that their order is nobody's concern."""
        found = [node]
        for n in found:
            for name in n._fields:
                part = getattr(n, name, None)
                if isinstance(part, list):
                    found += [p for p in part if isinstance(p, ast.AST)]
                elif isinstance(part, ast.AST):
                    found.append(part)
        return found

    own.copy_location = copy_location
    module.ast, module.traverse_node = own, traverse_node


def hand_out_once(config):
    """Let the first call of get_config have config; a run inside a test's run makes its own."""
    make = config_module.get_config

    def get_config(args=None, plugins=None):
        config_module.get_config = make
        config.invocation_params = pytest.Config.InvocationParams(args=args or (), plugins=plugins, dir=Path.cwd())
        return config

    config_module.get_config = get_config


def keep_parser(cls):
    """Let a cls build its parser again only when options were added to it."""
    build = getattr(cls, "_getparser", None)
    if build is None or not all(hasattr(cls(), name) for name in ("_groups", "_anonymous")):
        return

    def _getparser(self):
        options = [(group, len(group.options)) for group in self._groups + [self._anonymous]]
        kept = self.__dict__.get("tare_parser")
        if kept is None or kept[0] != options:
            kept = self.tare_parser = options, build(self)
        return kept[1]

    cls._getparser = _getparser
