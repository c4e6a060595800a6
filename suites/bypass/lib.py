"""What attempts have in common: the daemon's side for agents, test_patch, and a way to change the tree."""
import http.client
import json
import os
import socket
import urllib.request

TREE = os.environ["TARE_WORKSPACE"]
DAEMON = os.environ["SSE_DAEMON_SOCKET"]
PATCH = os.environ["TARE_PATCH_URL"]
LOGS = os.environ["MCP_LOG_DIR"]


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(self.path)


def daemon(method, path, body=None, at=DAEMON):
    """Asks the daemon; the status and the text of its answer."""
    c = Unix(at)
    c.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    return r.status, r.read().decode()


def action(name, **args):
    return daemon("POST", "/tool/bencher?action=" + name, args)


def post(url, message, session=None):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session:
        headers["Mcp-Session-Id"] = session
    r = urllib.request.urlopen(urllib.request.Request(url, json.dumps(message).encode(), headers), timeout=300)
    return r.headers.get("Mcp-Session-Id"), r.read().decode()


def test_patch(url=PATCH, **args):
    """Calls test_patch; its text."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attempt", "version": "1"}}
    session, _ = post(url, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_patch", "arguments": args}}
    _, text = post(url, call, session)
    for line in text.splitlines():
        line = line.removeprefix("data: ")
        if line.startswith("{") and json.loads(line).get("id") == 2:
            return json.loads(line)["result"]["content"][0]["text"]
    return text


def level(text):
    """What a result of test_patch ran: the names of its checks."""
    return ", ".join(l[2:].split(":")[0] for l in text.splitlines() if l.startswith("- ")) or "nothing"


def edit(path, old, new):
    path = os.path.join(TREE, path)
    with open(path) as f:
        text = f.read()
    assert old in text, path
    with open(path, "w") as f:
        f.write(text.replace(old, new, 1))


def tried(what):
    """Runs what, which is to be refused; the name of the refusal."""
    try:
        what()
    except OSError as e:
        return e.__class__.__name__ + ("" if e.errno is None else " " + str(e.errno))
    return "GOT IT"
