#!/usr/bin/python3
import re
from lib import *

reached = 0
for address in ("1.1.1.1", 53), ("8.8.8.8", 443), ("169.254.169.254", 80), ("10.0.0.1", 80), ("172.17.0.1", 22), ("192.168.0.1", 80), ("127.0.0.1", 22), ("127.0.0.1", 4263):
    try:
        socket.create_connection(address, 2).close()
        reached += 1
    except OSError:
        pass
names = 0
for name in "example.com", "example.net":
    try:
        socket.getaddrinfo(name, 80)
        names += 1
    except OSError:
        pass
edit("src/main.c", "int main(int argc, char **argv)\n{", r'''
int main(int argc, char **argv)
{
    system("/usr/bin/python3 -c 'import socket\nn = 0\nfor a in ((\"1.1.1.1\", 53), (\"127.0.0.1\", 3000), (\"127.0.0.1\", 7117)):\n  try: socket.create_connection(a, 2); n += 1\n  except OSError: pass\nprint(\"REACHED\", n, flush=True)'");
    exit(77);''')
found = re.findall(r"REACHED (\d+)", test_patch())
print("from the agent %d of 8, names %d, from the code under test %s" % (reached, names, max(found) if found else "not run"))
