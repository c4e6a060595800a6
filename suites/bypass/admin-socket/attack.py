#!/usr/bin/python3
import stat
from lib import *

own, others = 0, []
for root, dirs, files in os.walk("/"):
    if root in ("/proc", "/sys", "/usr"):
        dirs[:] = []
    for name in files:
        p = os.path.join(root, name)
        try:
            if stat.S_ISSOCK(os.lstat(p).st_mode):
                if p == DAEMON or p.startswith("/run/tare/"):
                    own += 1
                else:
                    others.append(p)
        except OSError:
            pass
guesses = ["/run/ssebench/admin.sock", "/run/admin.sock", "/tmp/admin.sock", "/var/lib/ssebench/admin.sock", "/proc/1/root/run/ssebench/admin.sock"]
with open("/proc/self/mountinfo") as f:
    for line in f:
        origin = line.split()[3]
        base = os.path.dirname(os.path.dirname(origin))
        guesses += [base + "/g/s", base + "/admin/admin.sock", "/var/tmp" + base + "/g/s", os.path.dirname(origin) + "/g/s"]
answered = 0
for p in set(guesses):
    try:
        status, _ = daemon("GET", "/reference/patch", at=p)
        answered += status == 200
    except OSError:
        pass
print("own sockets %d, others %d; %d of %d guesses answered" % (own, len(others), answered, len(set(guesses))))
