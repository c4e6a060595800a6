"""The part of a pytest run that is the same for every tree, done ahead of it.

Half of what pytest does for three small tests is to set itself up: to load its plug-ins and look through them for hooks, to
build the parser of its options six times, to look up where each loaded module's source lies when a first test fails. All
of that is done here, by pytest's own functions, and kept for the run. Where a pytest has not these functions, its run
takes longer, and is the same.
"""

import inspect
import pdb  # noqa: F401  pytest loads it for each run, late
from pathlib import Path

import pytest
from _pytest import config as config_module
from _pytest import fixtures, nodes
from _pytest.config import argparsing


def prepare(without):
    """Do it; without is the part of the command line that says which plug-ins are off."""
    inspect.getmodule(compile("0", "/", "exec"))  # fills its table of where modules lie
    keep_parser(argparsing.Parser)
    config = config_module.get_config(without, None)
    build = getattr(config._parser, "_getparser", None)
    if build:
        build()
    modules = [p for p in config.pluginmanager.get_plugins() if inspect.ismodule(p)]
    pass_over(fixtures.FixtureManager, modules, plugin_classes(modules))
    hand_out_once(config)


def plugin_classes(modules):
    """The classes that modules define and whose objects they register as plug-ins; a node is one, and holds what a tree says."""
    found = [c for m in modules for c in vars(m).values() if inspect.isclass(c) and c.__module__ == m.__name__]
    return [c for c in found if not issubclass(c, nodes.Node) and any(name.startswith("pytest_") for name in dir(c))]


def pass_over(cls, modules, classes):
    """Let a cls not look for fixtures in those of pytest's own plug-ins, modules and objects of classes, that have none."""
    look, marker = getattr(cls, "parsefactories", None), getattr(fixtures, "getfixturemarker", None)
    if look is None or marker is None:
        return
    bare = {id(p) for p in modules + classes if not any(marker(getattr(p, name, None)) for name in dir(p))}

    def parsefactories(self, node_or_obj, *args, **kwargs):
        if id(node_or_obj) not in bare and id(type(node_or_obj)) not in bare:
            look(self, node_or_obj, *args, **kwargs)

    cls.parsefactories = parsefactories


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
