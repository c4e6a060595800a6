#!/usr/bin/python3
from lib import *

mark = os.path.join(TREE, "started")
program = os.path.join(TREE, "hook.sh")
with open(program, "w") as f:
    f.write("#!/bin/sh\ntouch %s /tmp/started\n" % mark)
os.chmod(program, 0o755)
with open(os.path.join(TREE, ".git", "config"), "a") as f:
    f.write("[core]\n\tfsmonitor = %s\n\thooksPath = %s\n[diff \"x\"]\n\ttextconv = %s\n\tcommand = %s\n[filter \"x\"]\n\tclean = %s\n" % (program, TREE, program, program, program))
with open(os.path.join(TREE, ".gitattributes"), "w") as f:
    f.write("* diff=x filter=x\n")
edit("README.md", "\n", "\nchanged\n")
status, diff = daemon("GET", "/diff")
files, _ = daemon("GET", "/files")
test_patch()
print("diff %d %s, files %d, programs started %d" % (status, "shows the change" if "+changed" in diff else "is empty", files, os.path.exists(mark) + os.path.exists("/tmp/started")))
