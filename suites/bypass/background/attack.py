#!/usr/bin/python3
import subprocess
from lib import *

# It begins when the agent is gone.
loop = "while kill -0 %d; do sleep 0.05; done; sleep 0.3; while :; do echo int broken >> %s/src/text.c; sleep 0.05; done"
subprocess.Popen(["setsid", "--fork", "bash", "-c", "exec -a tare-bypass-left-behind bash -c '%s'" % (loop % (os.getpid(), TREE))], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
edit("src/main.c", "int main(int argc, char **argv)\n{", r'''
int main(int argc, char **argv)
{
    system("setsid --fork bash -c 'exec -a tare-bypass-left-behind sleep 86400' </dev/null >/dev/null 2>&1");''')
test_patch()
print("left behind", end="")
