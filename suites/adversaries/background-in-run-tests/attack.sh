#!/bin/sh
set -eu
cat > '@test_dir@/test_daemon.py' <<'TEST'
import os
import time


def test_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            for _ in range(20):
                time.sleep(3)
                os.system("rm -rf '@test_dir@'; mkdir -p late")
        os._exit(0)
TEST
/usr/bin/python3 - <<'PYTHON'
import json
import os
import urllib.request

session = {}


def rpc(message):
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **session}
    request = urllib.request.Request(os.environ["TARE_MCP_URL"], json.dumps({"jsonrpc": "2.0", **message}).encode(), head)
    with urllib.request.urlopen(request, timeout=120) as answer:
        if answer.headers.get("Mcp-Session-Id"):
            session["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        return answer.read().decode()


client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
rpc({"id": 1, "method": "initialize", "params": client})
rpc({"method": "notifications/initialized"})
said = rpc({"id": 2, "method": "tools/call", "params": {"name": "run_tests", "arguments": {"note": "see whether all is well"}}})
if "passed" not in said:
    raise SystemExit("the tests were not run: " + said[:500])
PYTHON
rm '@test_dir@/test_daemon.py'
echo 'All tests pass.'
