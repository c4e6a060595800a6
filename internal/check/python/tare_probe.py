"""Ask the task's probe its cases, one after the other in one fresh process, and send what came of each.

    tare_main.py probe ROOT HIDDEN DESCRIPTOR    request on stdin

There is no process for each case: state that code keeps from one call to the next is a part of how it behaves, and
cases that need a fresh start make fresh objects. A process that dies leaves the later cases without an answer.
"""

import importlib.util
import json
import os
import site
import sys

import tare_channel
import tare_pytest
import tare_values

HERE = os.path.dirname(os.path.abspath(__file__))
DIST = "/usr/lib/python3/dist-packages"


def load_probe(hidden):
    spec = importlib.util.spec_from_file_location("tare_hidden_probe", os.path.join(hidden, "probe.py"))
    probe = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = probe
    spec.loader.exec_module(probe)
    return probe


def answer(call, args, exact):
    """The typed form of what call returns or raises: whatever it raises, SystemExit and KeyboardInterrupt included."""
    try:
        value = call(*args)
    except BaseException as error:
        return tare_values.raised(error)
    return tare_values.encode(value if exact else tare_values.plain(value))


def main():
    root, hidden, descriptor = sys.argv[1], sys.argv[2], int(sys.argv[3])
    request = tare_channel.take_request()
    send = tare_channel.open_channel(descriptor, request.pop("nonce"))
    loads = json.loads
    exact = "check/exact-values" not in request.get("without", ())
    library = [p for p in sys.path if p != HERE]
    own = [os.path.normpath(os.path.join(root, s)) for s in request["sources"]]
    own = [p if os.path.isdir(p) else os.path.dirname(p) for p in own]
    sys.path[:] = [hidden] + list(dict.fromkeys(own + [root])) + library + [DIST]
    sys.argv[:] = ["python3"]
    del sys.modules["__main__"].__file__  # a process that the subject spawns would run it
    os.environ["PYTHONPATH"] = os.pathsep.join(own or [root])  # for a Python that the subject starts
    site.setquit()
    os.chdir(root)
    send("start")
    try:
        if request.get("steered"):
            tare_pytest.honour_start_up(own + [root])
        probe = load_probe(hidden)
    except BaseException as error:
        send("load", value=tare_values.raised(error))
        probe = None
    asked = request["cases"] if probe else []
    for case in asked:
        # the call is looked up in the probe each time, and each case gets arguments of its own
        send("case", id=case["id"], value=answer(getattr(probe, case["call"]), loads(case["args"]), exact))
    send("end", cases=len(asked))
    tare_channel.finish(0)
