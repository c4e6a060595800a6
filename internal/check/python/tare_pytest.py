"""Run pytest over a tree and report, event by event, on a descriptor of our own.

    tare_main.py pytest ROOT DESCRIPTOR    request on stdin

Where the tree has neither a conftest.py nor a link, tare_session.py does the same with less.

The tree's directories go onto sys.path only after pytest, the plug-in and what both need are loaded, so that no file of
the tree can stand in for them. A steered run does it the other way round: there the question is what such files do.
"""

import gc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import site
import sys
import tempfile

import tare_channel

HERE = os.path.dirname(os.path.abspath(__file__))
DIST = "/usr/lib/python3/dist-packages"
# Plug-ins that talk to somebody, change what a run is, or speak on stderr when the process dies.
OFF = "pastebin faulthandler setuponly setupplan".split()


def own_path(root, sources):
    """The tree's part of sys.path: its sources, then itself. A source that is a file stands for its directory."""
    paths = [os.path.normpath(os.path.join(root, s)) for s in sources]
    paths = [p if os.path.isdir(p) else os.path.dirname(p) for p in paths]
    return list(dict.fromkeys(paths + [root]))


def honour_start_up(own):
    """Do what the interpreter would have done at its start with the tree on its path."""
    for name in ("sitecustomize", "usercustomize"):
        if importlib.machinery.PathFinder.find_spec(name, own):
            importlib.import_module(name)


def advertised(own):
    """Options for the pytest plug-ins that packages in the tree advertise."""
    args = []
    for dist in importlib.metadata.distributions(path=own):
        for entry in dist.entry_points:
            if entry.group == "pytest11":
                args += ["-p", entry.value.partition(":")[0]]
    return args


def settings(root, configuration=True):
    """pytest's command line, but for files."""
    args = ["--continue-on-collection-errors", "--tb=short", "--color=no", "-q"]
    for name in OFF:
        args += ["-p", "no:" + name]
    # tests and settings may use the cache; it is no part of the tree
    args += ["-o", "cache_dir=" + os.path.join(tempfile.gettempdir(), "tare_pytest_cache")]
    if root is None:
        return args
    if configuration:
        args += ["-c", os.path.join(HERE, "tare_pytest.ini")]
    return args + ["--rootdir", root, "--confcutdir", root]


def wanted(request, root):
    """The files that tests are asked for of, and whether none of those is there; no files are all that pytest finds."""
    names = request["files"] or request["nodes"]
    if names is None:
        return [], False
    files = dict.fromkeys(os.path.join(root, n.partition("::")[0]) for n in names)
    files = [f for f in files if os.path.exists(f)]
    return files, not files


def arguments(request, root, own):
    """pytest's command line, and whether nothing that was asked for is there."""
    if request["steered"]:
        return settings(None) + advertised(own), False
    files, empty = wanted(request, root)
    return settings(root, "check/configuration" not in request.get("without", ())) + files, empty


def ready():
    """Load pytest, and do what its start is the same for in every run, before anything of a tree can be in the way."""
    sys.path[:] = [HERE] + [p for p in sys.path if p not in (HERE, DIST)] + [DIST]
    if "pytest" in sys.modules:
        return
    gc.disable()  # all that is loaded here stays
    import tare_ahead
    import tare_plugin

    tare_ahead.prepare(sum((["-p", "no:" + name] for name in OFF), []), tare_plugin.Reporter)

    gc.freeze()


def main():
    root, descriptor = sys.argv[1], int(sys.argv[2])
    request = tare_channel.take_request()
    off = request.get("without", ())  # defences that are switched off, to show what they are good for
    send = tare_channel.open_channel(descriptor, request.pop("nonce"), "check/one-speaker" in off)
    own = own_path(root, request["sources"])
    library = [p for p in sys.path if p not in (HERE, DIST)]
    os.chdir(root)
    site.setquit()  # exit() and quit(), which -S leaves out
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.argv[:] = ["pytest"]
    if request["steered"] or "check/shadows" in off:
        sys.path[:] = own + [HERE] + library + [DIST]
        if request["steered"]:
            honour_start_up(own)
        gc.disable()
    else:
        ready()
    import pytest
    import tare_plugin

    # as after "python -m pytest", so that a process which a test spawns does not run this file
    sys.modules["__main__"].__spec__ = importlib.util.find_spec("pytest.__main__")

    send("start")  # nothing of the tree has run so far, unless it was asked to
    sys.path[:] = own + library + [DIST]
    args, empty = arguments(request, root, own)
    # a test may start a Python of its own, as from a shell in which the tests are run
    os.environ["PYTHONPATH"] = os.pathsep.join(own[:-1] or own)
    reporter = tare_plugin.Reporter()
    reporter.begin(send, request, root, empty)
    gc.freeze()
    gc.enable()
    reporter.end(int(pytest.main(args, plugins=[reporter])))
