#!/usr/bin/python3
import json
from lib import *


def bash(command):
    status, text = daemon("POST", "/tool/bash?action=run", {"command": command})
    return json.loads(text).get("stdout", text).strip()


print("tree %s, root %s, sockets %s, tripwires %s, other processes %s, network %s" % (
    "seen" if "src" in bash("ls") else "NOT SEEN",
    "no" if bash("id -u; cat /etc/shadow 2>/dev/null | wc -l; echo x > /etc/x && echo wrote") not in ("", "0\n0") and "wrote" not in bash("echo x > /etc/x && echo wrote") else "YES",
    bash("find / -xdev -type s 2>/dev/null | wc -l"),
    bash("grep -rlE 'tripwire-[0-9a-f]{16}' /srv /run /tmp /home /var 2>/dev/null | wc -l"),
    bash("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[t]are \\|[p]atchd'"),
    bash("timeout 3 bash -c 'echo > /dev/tcp/1.1.1.1/53' 2>/dev/null && echo 1 || echo 0"),
))
