package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/agent"
	"tare/internal/sandbox"
)

// marker is a number of seconds that no other process sleeps for.
func marker() string { return fmt.Sprintf("7%d", time.Now().UnixNano()%1e9) }

func sleepers(t *testing.T, marker string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if b, err := os.ReadFile(p); err == nil && string(b) == "sleep\x00"+marker+"\x00" {
			n++
		}
	}
	return n
}

// post is a shell function that calls a tool as an agent in a sandbox does: by HTTP at TARE_MCP_URL.
const post = `
post() { /usr/bin/python3 -c '
import json, os, sys, urllib.request
url = os.environ["TARE_MCP_URL"]
def send(body, session=None):
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session: head["Mcp-Session-Id"] = session
    return urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head))
r = send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}})
session = r.headers["Mcp-Session-Id"]; r.read()
send({"jsonrpc": "2.0", "method": "notifications/initialized"}, session).read()
print(send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": sys.argv[1], "arguments": json.loads(sys.argv[2])}}, session).read().decode())
' "$1" "$2"; }
`

func TestCommand(t *testing.T) {
	s := newStage(t, tare.Limits{}, "")
	p := script(t, post+`
set -e
echo "in $PWD, $TARE_WORKSPACE"
printf %s "$1" | cmp - "$TARE_PROMPT_FILE" && echo same prompt
printf %s "$1"
cat "$(dirname "$0")/beside"
echo edited >note.txt
echo 'def total(prices): return sum(prices)' >src/shop/cart.py
post write_file '{"path": "through/mcp.txt", "content": "x", "note": "from inside"}' | grep -o 'wrote through/mcp.txt'
touch "$(dirname "$0")/new" 2>/dev/null || echo read-only
touch "$TARE_PROMPT_FILE" 2>/dev/null || echo read-only
env | grep -o '^TARE_[A-Z_]*' | sort | xargs
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(p), "beside"), []byte("a file beside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := agent.Command("cmd:./run_agent.sh", p)
	if err != nil {
		t.Fatal(err)
	}
	end, err := a.Play(t.Context(), brief, s.World)
	want := "in /workspace, /workspace\nsame prompt\n# The first price is lost\n\nMend `total`.\na file beside\nwrote through/mcp.txt\nread-only\nread-only\nTARE_MCP_URL TARE_PROMPT_FILE TARE_USAGE_FILE TARE_WORKSPACE"
	end.Said = nil // asked below
	if diff := cmp.Diff(agent.Ending{Stop: tare.EndTurn, Final: want}, end); err != nil || diff != "" {
		t.Errorf("%v, ending (-want +got):\n%s", err, diff)
	}
	var changed []string
	for _, c := range s.ws.Base.Changes(s.final(t)) {
		changed = append(changed, c.Path)
	}
	if diff := cmp.Diff([]string{"note.txt", "src/shop/cart.py", "through/mcp.txt"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	steps := s.steps.Trajectory().Steps
	if len(steps) != 1 || steps[0].Call.Tool != "write_file" || steps[0].Call.Note != "from inside" {
		t.Errorf("recorded %+v", steps)
	}
	x := a.(agent.Exposer).Exposes(brief)
	if diff := cmp.Diff([]string{filepath.Dir(p)}, x.Dirs); diff != "" || len(x.Args) != 3 || len(x.Env) != 5 {
		t.Errorf("exposes %+v", x)
	}
}

// A clock is a context whose time is up when the test says so.
type clock struct {
	context.Context
	up chan struct{}
}

func (c clock) Done() <-chan struct{} { return c.up }

func (c clock) Err() error {
	select {
	case <-c.up:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestCommandEnds(t *testing.T) {
	sleep := marker()
	// Those that hang say so by opening the pipe "ready"; then their time is up.
	for name, tt := range map[string]struct {
		body   string
		hangs  bool
		stop   tare.StopReason
		detail string
		final  string
	}{
		"crash":       {"echo half; echo 'Traceback' >&2; echo 'KeyError: 3' >&2; exit 3", false, tare.AgentCrash, "exit status 3: KeyError: 3", "half"},
		"signal":      {"kill -SEGV $$", false, tare.AgentCrash, "SIGSEGV", ""},
		"hangs":       {"echo begun; echo >ready; sleep " + sleep, true, tare.WallLimit, "time", "begun"},
		"ignores":     {"trap '' TERM INT HUP; echo deaf; echo >ready; while :; do sleep " + sleep + "; done", true, tare.WallLimit, "time", "deaf"},
		"says done":   {"trap 'echo done; exit 0' TERM INT; echo >ready; sleep " + sleep, true, tare.WallLimit, "time", ""},
		"double fork": {"(setsid sleep " + sleep + " &) ; (setsid sh -c 'while :; do echo x >>late; sleep 1; done' &) ; echo bye", false, tare.EndTurn, "", "bye"},
		"talks":       {"yes | head -c 20000; echo end", false, tare.EndTurn, "", strings.Repeat("y\n", 8190) + "end"},
		"no UTF-8":    {`printf 'caf\351'`, false, tare.EndTurn, "", "caf\ufffd"},
		"floods":      {"yes", false, tare.AgentCrash, "limit on output", strings.Repeat("y\n", 8191) + "y"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, tare.Limits{}, "")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ready := filepath.Join(s.Dir, "ready")
			if tt.hangs {
				c := clock{t.Context(), make(chan struct{})}
				ctx = c
				if err := syscall.Mkfifo(ready, 0); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(ready, 0o666); err != nil {
					t.Fatal(err)
				}
				go func() {
					os.ReadFile(ready) // waits for the one who writes
					close(c.up)
				}()
			}
			end, err := command(t, tt.body+"\n").Play(ctx, brief, s.World)
			if err != nil || end.Stop != tt.stop || !strings.Contains(end.Detail, tt.detail) || end.Detail == "" != (tt.detail == "") {
				t.Fatalf("ended with %s, %q, %v", end.Stop, end.Detail, err)
			}
			if end.Final != tt.final {
				t.Errorf("last message of %d bytes: %.200q", len(end.Final), end.Final)
			}
			checkFinal(t, end)
			if n := sleepers(t, sleep); n > 0 {
				t.Errorf("%d processes are left", n)
			}
			if tt.hangs {
				if err := os.Remove(ready); err != nil {
					t.Fatal(err)
				}
			}
			if name != "double fork" {
				return
			}
			// Nobody writes any more: two looks, with a command that takes two seconds between them, see the same.
			before := s.final(t).Digest()
			if _, err := command(t, "sleep 2\n").Play(t.Context(), brief, s.World); err != nil {
				t.Fatal(err)
			}
			if s.final(t).Digest() != before {
				t.Error("the workspace still changes")
			}
		})
	}
}

func TestCommandRefused(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{plain: "chmod +x", dir: "not a file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := agent.Command("cmd:x", name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := tare.Brief{Text: strings.Repeat("x", 200<<10)}
	if end, err := command(t, "").Play(t.Context(), long, newStage(t, tare.Limits{}, "").World); err == nil {
		t.Errorf("a prompt that fits no argument: %+v", end)
	}
}

func TestPrompt(t *testing.T) {
	for _, tt := range []struct {
		brief tare.Brief
		want  string
	}{
		{tare.Brief{Title: "T", Text: "\nbody\n\n"}, "# T\n\nbody\n"},
		{tare.Brief{Title: "T", Text: "# Own heading\nbody"}, "# Own heading\nbody\n"},
		{tare.Brief{Text: "body"}, "body\n"},
	} {
		if got := agent.Prompt(tt.brief); got != tt.want {
			t.Errorf("%+v: %q", tt.brief, got)
		}
	}
}

// rigged is a sandbox that answers without running anything.
type rigged struct {
	sandbox.Sandbox
	res sandbox.Result
	err error
}

func (r rigged) Run(context.Context, sandbox.Cmd) (sandbox.Result, error) { return r.res, r.err }

func TestCommandResults(t *testing.T) {
	a := command(t, "")
	for name, tt := range map[string]struct {
		res    sandbox.Result
		stop   tare.StopReason
		detail string
	}{
		"own wall limit": {sandbox.Result{Exit: 137, Signal: "SIGKILL", Ended: sandbox.LimitWall}, tare.WallLimit, "the time for the episode is up"},
		"cancelled":      {sandbox.Result{Exit: 0, Ended: sandbox.LimitCancelled}, tare.Cancelled, "cancelled"},
		"memory":         {sandbox.Result{Exit: 0, Ended: sandbox.LimitMemory}, tare.AgentCrash, "ended by the limit on memory"},
		"not found":      {sandbox.Result{Exit: 127, Stderr: sandbox.Bytes{Data: []byte("sh: x: not found\n")}}, tare.AgentCrash, "exit status 127: sh: x: not found"},
	} {
		end, err := a.Play(t.Context(), brief, agent.World{Socket: "/s", Dir: "/w", Sandbox: rigged{shared, tt.res, nil}})
		if err != nil || end.Stop != tt.stop || end.Detail != tt.detail {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
	if end, err := a.Play(t.Context(), brief, agent.World{Socket: "/s", Dir: "/w", Sandbox: rigged{shared, sandbox.Result{}, errors.New("no bwrap")}}); err == nil {
		t.Errorf("a sandbox that fails: %+v", end)
	}
}

// TestCommandBehindAClosedDirectory plays a script that lies where only its owner can pass, as below /root.
func TestCommandBehindAClosedDirectory(t *testing.T) {
	s := newStage(t, tare.Limits{}, "")
	p := script(t, `cat "$(dirname "$0")/beside"; touch "$(dirname "$0")/new" 2>/dev/null || echo read-only`)
	dir := filepath.Dir(p)
	if err := os.WriteFile(filepath.Join(dir, "beside"), []byte("a file beside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := agent.Command("cmd:./run_agent.sh", p)
	if err != nil {
		t.Fatal(err)
	}
	end, err := a.Play(t.Context(), brief, s.World)
	end.Said = nil // asked below
	if diff := cmp.Diff(agent.Ending{Stop: tare.EndTurn, Final: "a file beside\nread-only"}, end); err != nil || diff != "" {
		t.Errorf("%v, ending (-want +got):\n%s", err, diff)
	}
}
