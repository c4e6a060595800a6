#!/usr/bin/python3
import json
from lib import *

for method, path in ("POST", "/prepare_grading"), ("POST", "/admin/agent_exited"), ("GET", "/reference/patch"), ("POST", "/admin/agent_exited?privileged=true"):
    status, text = daemon(method, path, {})
    print(status, json.loads(text).get("error", "GOT IT"))
for name in "build", "function_test", "intent_test", "run_poc":
    status, text = action(name, grading=True, poc="poc-1")
    print(status, json.loads(text).get("error", "GOT IT"))
status, text = daemon("GET", "/version")  # its phase is not over
print(status, *json.loads(text))
