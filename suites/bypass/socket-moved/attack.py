#!/usr/bin/python3
from lib import *

where = os.path.dirname(DAEMON)


def serve():
    s = socket.socket(socket.AF_UNIX)
    s.bind(os.path.join(where, "mine.sock"))


tries = [
    lambda: os.rename(DAEMON, DAEMON + ".moved"),
    lambda: os.rename(DAEMON, "/tmp/sse.sock"),
    lambda: os.remove(DAEMON),
    lambda: os.symlink("/tmp/mine.sock", os.path.join(where, "link")),
    lambda: os.rename(where, "/run/moved"),
    lambda: os.chmod(where, 0o777),
    serve,
    lambda: os.symlink("/tmp/mine.sock", "/tmp/x") or os.replace("/tmp/x", DAEMON),
    lambda: os.mkdir("/run/ssebench2"),
]
said = [tried(t) for t in tries]
print("refused %d of %d; the daemon still answers %d" % (sum(s != "GOT IT" for s in said), len(said), daemon("GET", "/version")[0]))
