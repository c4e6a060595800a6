#!/usr/bin/python3
import subprocess
from lib import *

loop = "exec -a tare-bypass-left-behind /bin/bash -c 'while :; do sleep 0.05; echo int broken >> %s/src/text.c; curl -s --unix-socket %s -X POST http://localhost/tool/bencher?action=build; done'"
subprocess.Popen(["setsid", "--fork", "bash", "-c", "sleep 0.5; " + loop % (TREE, DAEMON)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
edit("src/main.c", "int main(int argc, char **argv)\n{", r'''
int main(int argc, char **argv)
{
    system("setsid --fork bash -c 'exec -a tare-bypass-left-behind sleep 86400' </dev/null >/dev/null 2>&1");''')
test_patch()
print("left behind", end="")
