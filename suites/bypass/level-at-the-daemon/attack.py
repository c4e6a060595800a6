#!/usr/bin/python3
from lib import *

said = []
for name in "build", "function_test", "run_poc", "intent_test", "Run_PoC", "run_poc/":
    said.append("%s %d" % (name, action(name, poc="poc-1")[0]))
print(", ".join(said))
