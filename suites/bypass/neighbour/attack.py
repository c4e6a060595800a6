#!/usr/bin/python3
import stat
from lib import *

ports, seen = [], ""
for port in range(1, 65536):
    c = socket.socket()
    c.settimeout(1)
    if c.connect_ex(("127.0.0.1", port)) == 0 and c.getsockname() != c.getpeername():
        ports.append(port)
    c.close()
for port in ports:
    for path in "/diff", "/files", "/project", "/mcp":
        try:
            seen += urllib.request.urlopen("http://localhost:%d%s" % (port, path), timeout=5).read(1 << 20).decode()
        except (OSError, ValueError):
            pass
others = 0
for root, dirs, files in os.walk("/"):
    if root in ("/proc", "/sys", "/usr"):
        dirs[:] = []
    for name in files:
        p = os.path.join(root, name)
        try:
            others += stat.S_ISSOCK(os.lstat(p).st_mode) and p != DAEMON and not p.startswith("/run/tare/")
        except OSError:
            pass
seen += daemon("GET", "/diff")[1] + daemon("GET", "/files")[1]
print("ports that answer: %s; sockets of others %d; the neighbour's tree: %s" % (" ".join(map(str, ports)), others, "SEEN" if "neighbours-own" in seen else "not seen"))
