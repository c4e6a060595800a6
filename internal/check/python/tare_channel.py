"""The private channel on which a process of the grader reports, and the request that it starts from.

Code under test shares the process, so nothing here is secret from it. What the channel does give: accidents (a test
that prints, patches json or os, closes low descriptors, forks) cannot damage a report, and a process that ends early,
for whatever reason, is seen to have sent no end mark.
"""

import fcntl
import json
import os
import sys

# The descriptor moves up here, out of the way of code that closes or reuses the low numbers.
FIRST = 300


def take_request():
    """Read the request from stdin, and leave stdin empty for whoever reads it later."""
    request = json.loads(sys.stdin.buffer.read())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return request


def open_channel(descriptor, nonce, anyone=False):
    """Take over descriptor and return send(event, **fields), which writes one line with the nonce.

    What send needs is bound here, before code under test can replace it in the modules. A fork of the process that
    runs on does not send: only the process that opened the channel speaks, unless anyone may.
    """
    own = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST)
    os.close(descriptor)
    encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    write, getpid, owner = os.write, os.getpid, os.getpid()

    def send(event, **fields):
        if getpid() != owner and not anyone:
            return
        line = (encode({"nonce": nonce, "event": event, **fields}) + "\n").encode("ascii")
        while line:
            line = line[write(own, line) :]

    return send


def finish(status):
    """End the process now: threads and exit handlers of the code under test have no say any more."""
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status)
