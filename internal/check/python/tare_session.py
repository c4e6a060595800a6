"""Run pytest as tare_pytest.py does, over a tree that has neither a conftest.py nor a link.

    tare_main.py session ROOT DESCRIPTOR    request on stdin

Until pytest collects tests it then needs nothing of the tree: all that it does before is the same for each. A resident has that
done before it is asked for a run, in an empty directory with the tree's name. A process that was started for one run does
the same in the same order, only that nobody waits in the middle.
"""

import gc
import importlib.util
import os
import site
import sys
from pathlib import Path

import tare_channel
import tare_pytest


def ready():
    """Load what a run needs."""
    tare_pytest.ready()


def main(serve=None):
    """Go as far as the collection; there, where serve is given, wait in it until it returns the arguments of a run."""
    root, descriptor = sys.argv[1], sys.argv[2:]
    ready()
    import pytest
    import tare_plugin

    later = Later()
    if not later.possible():
        sys.argv[1:] = serve() if serve else [root, *descriptor]
        return tare_pytest.main()

    class Session(tare_plugin.Reporter):
        """The reporter, that also is where a run begins."""

        arrived = False

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            if self.arrived:
                return
            gc.collect()  # what there is so far is old
            if serve:
                only_the_streams()
            command = serve() if serve else [root, *descriptor]
            self.arrived = True
            arrive(self, session.config, later, *command)

    os.chdir(root)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.argv[:] = ["pytest"]
    # as after "python -m pytest", so that a process which a test spawns does not run this file
    sys.modules["__main__"].__spec__ = importlib.util.find_spec("pytest.__main__")
    reporter = Session()
    later.put_off()
    status = int(pytest.main(tare_pytest.settings(root), plugins=[reporter]))
    if not reporter.arrived:
        sys.exit("pytest ended with status %d before it collected tests" % status)
    reporter.end(status)


class Later:
    """What pytest does before it collects tests and is the run's own: it is put off until that is known."""

    def __init__(self):
        from _pytest import config, logging
        from _pytest.capture import CaptureManager

        self.logging, self.logs = logging, []
        self.places = [
            (CaptureManager, "start_global_capturing", lambda capture: None),  # the streams of the run may be others
            (config.PytestPluginManager, "_try_load_conftest", lambda *args, **kwargs: None),  # there is none, and a tree may hold snares
            (logging, "_FileHandler", self.log),
        ]

    def possible(self):
        """Whether this pytest has what is put off."""
        return all(hasattr(of, name) for of, name, _ in self.places)

    def put_off(self):
        self.usual = [getattr(of, name) for of, name, _ in self.places]
        for of, name, instead in self.places:
            setattr(of, name, instead)

    def log(self, *args, **kwargs):
        """A log that is not open yet."""
        self.logs.append(self.usual[-1](*args, delay=True, **kwargs))
        return self.logs[-1]

    def make_up(self, config):
        """Do what was put off."""
        for (of, name, _), usual in zip(self.places, self.usual):
            setattr(of, name, usual)
        capture = config.pluginmanager.get_plugin("capturemanager")
        capture.start_global_capturing()
        capture.suspend_global_capture()
        for log in self.logs:
            log.delay, log.stream = False, log._open()


def arrive(reporter, config, later, root, descriptor):
    """Begin the run that stdin asks for."""
    request = tare_channel.take_request()
    send = tare_channel.open_channel(int(descriptor), request.pop("nonce"), "check/one-speaker" in request.get("without", ()))
    send("start")  # nothing of the tree has run so far
    begin(reporter, config, root, request, send)
    later.make_up(config)
    gc.enable()


def only_the_streams():
    """Make sure that nothing is open that would be none of a run's: an object that closes it there would close another file."""
    beyond = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 3 and os.path.exists("/proc/self/fd/" + fd)]
    if beyond:
        sys.exit("pytest leaves descriptors open: %s" % ", ".join(beyond))


def begin(reporter, config, root, request, send):
    """Give the run what is its own: its directory, its environment, its files, its time."""
    import pytest
    from _pytest import timing

    own = tare_pytest.own_path(root, request["sources"])
    library = [p for p in sys.path if p not in (tare_pytest.HERE, tare_pytest.DIST)]
    os.chdir(root)
    site.setquit()  # exit() and quit(), which -S leaves out
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # a test may start a Python of its own, as from a shell in which the tests are run
    os.environ["PYTHONPATH"] = os.pathsep.join(own[:-1] or own)
    sys.argv[:] = ["pytest"]
    sys.path[:] = own + library + [tare_pytest.DIST]
    files, empty = tare_pytest.wanted(request, root)
    if files:
        config.args = files
        config.option.file_or_dir = config.known_args_namespace.file_or_dir = list(files)
        config.args_source = pytest.Config.ArgsSource.ARGS
    before = config.invocation_params
    config.invocation_params = pytest.Config.InvocationParams(args=[*before.args, *files], plugins=before.plugins, dir=Path.cwd())
    config.pluginmanager.get_plugin("terminalreporter")._sessionstarttime = timing.time()
    reporter.begin(send, request, root, empty)
