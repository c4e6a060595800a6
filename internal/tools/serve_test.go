package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
	"tare/internal/mcpserve"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// asServer makes the test binary a stdio server over the workspace named there.
const asServer = "TARE_TEST_SERVE"

var shared sandbox.Sandbox

func TestMain(m *testing.M) {
	if dir := os.Getenv(asServer); dir != "" {
		serveStdio(dir)
		return
	}
	os.Exit(run(m))
}

// run opens the sandbox that the tests share: to open one tries the machine out, which takes a while.
func run(m *testing.M) int {
	state, err := os.MkdirTemp(sandbox.TempDir(), "tare-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	if err := os.Chmod(state, 0o711); err != nil {
		panic(err)
	}
	shared, err = sandbox.Open(context.Background(), sandbox.Options{StateRoot: state})
	if err != nil {
		panic(err)
	}
	defer shared.Close()
	return m.Run()
}

func serveStdio(dir string) {
	sb, err := sandbox.Open(context.Background(), sandbox.Options{Backend: "process", StateRoot: dir + "-state"})
	if err != nil {
		panic(err)
	}
	defer sb.Close()
	w, err := New(Config{Workspace: &workspace.Workspace{Dir: dir}, Sandbox: sb, Runner: shell{script: "echo $PWD"}})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	if err := w.ServeIO(context.Background(), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// transports are the ways to reach a world, each with the protocol that the client asks for.
var transports = map[string]func(t *testing.T, b *bench) (mcp.Transport, string){
	"stdio": func(t *testing.T, b *bench) (mcp.Transport, string) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- b.ServeIO(context.Background(), inR, outW) }()
		t.Cleanup(func() {
			inW.Close()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("serving: %v", err)
				}
			case <-time.After(patience):
				t.Error("the server outlives its client")
			}
		})
		return &mcp.IOTransport{Reader: outR, Writer: inW}, ""
	},
	"tcp": func(t *testing.T, b *bench) (mcp.Transport, string) {
		return &mcp.StreamableClientTransport{Endpoint: listen(t, b).URL}, ""
	},
	"tcp, older protocol": func(t *testing.T, b *bench) (mcp.Transport, string) {
		return &mcp.StreamableClientTransport{Endpoint: listen(t, b).URL}, "2025-06-18"
	},
	"unix": func(t *testing.T, b *bench) (mcp.Transport, string) {
		socket := filepath.Join(t.TempDir(), "s")
		l, err := b.ListenUnix(t.Context(), socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("socket mode %v, %v", info.Mode(), err)
		}
		return &mcp.StreamableClientTransport{Endpoint: l.URL, HTTPClient: unixClient(socket)}, ""
	},
}

func listen(t *testing.T, b *bench) *Listener {
	t.Helper()
	l, err := b.ListenTCP(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(l.URL, "http://127.0.0.1:") {
		t.Errorf("listens at %s, want loopback where no host is given", l.URL)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("closing listener: %v", err)
		}
	})
	return l
}

// TestTransports has a real client of each kind use the world, hear of progress, and cancel a run so that its whole
// process tree is gone.
func TestTransports(t *testing.T) {
	for name, dial := range transports {
		t.Run(name, func(t *testing.T) {
			// A number of seconds that no other process sleeps for marks the tree.
			marker := fmt.Sprintf("9%d", time.Now().UnixNano()%1e9)
			b := newBench(t, func(c *Config) {
				c.Runner = shell{script: "setsid sleep " + marker + " & echo running; sleep " + marker}
				c.Limits.Check = 5 * time.Minute
			})
			stepped := make(chan tare.Step, 10)
			b.cfg.OnStep = func(s tare.Step) { stepped <- s }
			running := make(chan struct{}, 100)
			transport, protocol := dial(t, b)
			client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					if r.Params.Message == "running" {
						running <- struct{}{}
					}
				},
			}).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			want := protocol
			if want == "" {
				want = "2026-07-28"
			}
			if got := client.InitializeResult().ProtocolVersion; got != want {
				t.Errorf("protocol %s, want %s", got, want)
			}

			if _, got, failed := callOn(t, client, "list_files", nil); failed || len(got["files"].([]any)) != 5 {
				t.Fatalf("list_files: %v", got)
			}
			<-stepped
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				params := &mcp.CallToolParams{Name: "run_tests", Arguments: map[string]any{}}
				params.SetProgressToken("p")
				_, err := client.CallTool(ctx, params)
				ended <- err
			}()
			select {
			case <-running:
			case err := <-ended:
				t.Fatalf("ended with %v before any progress", err)
			}
			if n := len(sleepers(t, marker)); n != 2 {
				t.Errorf("%d processes, want 2", n)
			}
			cancel()
			select {
			case s := <-stepped:
				if s.Call.Tool != "run_tests" || s.Observation.OK || !strings.Contains(s.Observation.Preview, "cancelled") {
					t.Errorf("recorded %+v", s)
				}
			case <-time.After(patience):
				t.Fatal("the cancelled call goes on")
			}
			if left := sleepers(t, marker); len(left) > 0 {
				t.Errorf("still alive: %v", left)
			}
			<-ended
			if text, _, failed := callOn(t, client, "read_file", map[string]any{"path": "run"}); failed || text != "#!/bin/sh\n" {
				t.Errorf("after a cancelled call: %q", text)
			}
		})
	}
}

// sleepers lists the processes that sleep for marker seconds.
func sleepers(t *testing.T, marker string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range all {
		if b, err := os.ReadFile(p); err == nil && string(b) == "sleep\x00"+marker+"\x00" {
			out = append(out, p)
		}
	}
	return out
}

// TestStdioProcess: a server that is a process of its own, as clients start it.
func TestStdioProcess(t *testing.T) {
	base, err := os.MkdirTemp(sandbox.TempDir(), "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "w")
	if err := workspace.Lay(dir, seedTree(t), workspace.Owner{UID: -1, GID: -1}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+dir)
	cmd.Stderr = os.Stderr
	client := connect(t, &mcp.CommandTransport{Command: cmd}, nil)
	if _, got, failed := callOn(t, client, "list_files", nil); failed || len(got["files"].([]any)) != 5 {
		t.Errorf("list_files: %v", got)
	}
	// Nothing isolates the process backend, and still no path of the host is shown.
	if text, got, failed := callOn(t, client, "run_tests", nil); failed || got["stdout"] != "/workspace\n" || strings.Contains(text, dir) {
		t.Errorf("run_tests: failed %v, %v", failed, got)
	}
	if err := client.Close(); err != nil {
		t.Errorf("the server does not end well: %v", err)
	}
}

// TestWebPages: a page in the user's browser must not reach a world, by its own name for this machine or across origins.
func TestWebPages(t *testing.T) {
	l := listen(t, newBench(t, nil))
	const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for name, tt := range map[string]struct {
		host, origin, version string
		want                  int
	}{
		"a client":                   {"", "", "", 200},
		"localhost":                  {"localhost:1", "", "", 200},
		"rebound name":               {"evil.example", "", "", 403},
		"rebound name, no sessions":  {"evil.example", "", "2026-07-28", 403},
		"foreign origin":             {"", "https://evil.example", "", 403},
		"foreign origin, no session": {"", "https://evil.example", "2026-07-28", 403},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if tt.host != "" {
				req.Host = tt.host
			}
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			if tt.version != "" {
				req.Header.Set("Mcp-Protocol-Version", tt.version)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.want {
				t.Errorf("status %d, want %d", res.StatusCode, tt.want)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	b := newBench(t, nil)
	b.put("long", strings.Repeat("0123456789\n", 1000))
	b.call("read_file", map[string]any{"path": "long", "note": "requirement 2: <look> here"})
	b.call("read_file", map[string]any{"path": "missing"})
	b.call("delete_file", map[string]any{"path": "long"})
	b.call("write_file", map[string]any{"path": "x"})
	b.call("write_file", map[string]any{"path": "x", "content": "a<b>&\u2028", "note": "n"})
	b.call("list_files", map[string]any{"note": 3})
	type row struct {
		Tool, Args, Note string
		OK               bool
		Preview          string
	}
	var got []row
	for i, s := range b.steps {
		if s.Call.Index != i {
			t.Errorf("step %d has index %d", i, s.Call.Index)
		}
		if s.Call.At < 0 || i > 0 && s.Call.At < b.steps[i-1].Call.At || s.Observation.Seconds <= 0 {
			t.Errorf("step %d: at %v for %v", i, s.Call.At, s.Observation.Seconds)
		}
		got = append(got, row{s.Call.Tool, string(s.Call.Args), s.Call.Note, s.Observation.OK, s.Observation.Preview})
	}
	long := strings.Repeat("0123456789\n", 1000)
	want := []row{
		{"read_file", `{"path":"long"}`, "requirement 2: <look> here", true, long[:975] + "\n[… 9050 bytes left out …]\n" + long[len(long)-975:]},
		{"read_file", `{"path":"missing"}`, "", false, `there is no file "missing"; list_files shows what there is`},
		{"delete_file", `{"path":"long"}`, "", false, `unknown tool "delete_file"`},
		{"write_file", `{"path":"x"}`, "", false, `validating "arguments": validating root: required: missing properties: ["content"]`},
		{"write_file", `{"content":"a<b>&` + "\u2028" + `","path":"x"}`, "n", true, "wrote x (8 bytes)"},
		{"list_files", `{"note":3}`, "", false, `validating "arguments": validating root: validating /properties/note: type: 3 has type "integer", want "string"`},
	}
	// How the JSON writes the line separator is not the point.
	for i := range got {
		got[i].Args = strings.ReplaceAll(got[i].Args, `\u2028`, "\u2028")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if o := b.steps[0].Observation; o.Size != len(long) || o.Digest != tare.HashBytes([]byte(long)) {
		t.Errorf("size %d, digest %s", o.Size, o.Digest)
	}
	if _, err := tare.Canonical(b.steps); err != nil {
		t.Errorf("steps do not encode: %v", err)
	}
}

func TestTurnLimit(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Limits.Turns = 2 })
	b.call("list_files", nil)
	b.call("nonsense", nil) // counts too
	select {
	case <-b.Exhausted():
		t.Fatal("exhausted by calls within the limit")
	default:
	}
	for range 3 {
		text, _, failed := b.call("write_file", map[string]any{"path": "x", "content": ""})
		if !failed || !strings.Contains(text, "limit of 2") {
			t.Errorf("beyond the limit: %q", text)
		}
	}
	select {
	case <-b.Exhausted():
	default:
		t.Error("not exhausted")
	}
	if n := len(b.steps); n != 3 { // the first that was refused is recorded, those that repeat it are not
		t.Errorf("%d steps", n)
	}
	if _, err := os.Stat(filepath.Join(b.cfg.Workspace.Dir, "x")); err == nil {
		t.Error("a refused call wrote a file")
	}
}

// TestOneAtATime: calls that clients make together are recorded in one order, and none is lost.
func TestOneAtATime(t *testing.T) {
	b := newBench(t, nil)
	done := make(chan bool)
	const n = 20
	for i := range n {
		go func() {
			_, _, failed := callOn(t, b.client, "write_file", map[string]any{"path": "same", "content": fmt.Sprint(i)})
			done <- failed
		}()
	}
	for range n {
		if <-done {
			t.Error("a call failed")
		}
	}
	var args struct{ Content string }
	for i, s := range b.steps {
		if s.Call.Index != i {
			t.Errorf("step %d has index %d", i, s.Call.Index)
		}
	}
	if len(b.steps) != n {
		t.Fatalf("%d steps", len(b.steps))
	}
	if err := json.Unmarshal(b.steps[n-1].Call.Args, &args); err != nil || b.get("same") != args.Content {
		t.Errorf("the file holds %q, the last call wrote %q", b.get("same"), args.Content)
	}
}

func TestClose(t *testing.T) {
	marker := fmt.Sprintf("8%d", time.Now().UnixNano()%1e9)
	b := newBench(t, func(c *Config) {
		c.Runner = shell{script: "echo running; sleep " + marker}
		c.Limits.Check = 5 * time.Minute
	})
	running := make(chan struct{}, 100)
	near, far := mcp.NewInMemoryTransports()
	if _, err := b.server.Connect(t.Context(), near, nil); err != nil {
		t.Fatal(err)
	}
	client := connect(t, far, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if r.Params.Message == "running" {
			running <- struct{}{}
		}
	}})
	answer := make(chan string, 2)
	go func() {
		params := &mcp.CallToolParams{Name: "run_tests", Arguments: map[string]any{}}
		params.SetProgressToken(1)
		res, err := client.CallTool(context.Background(), params)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- res.Content[0].(*mcp.TextContent).Text
	}()
	<-running
	if err := b.World.Close(); err != nil {
		t.Fatal(err)
	}
	if left := sleepers(t, marker); len(left) > 0 {
		t.Errorf("alive after Close: %v", left)
	}
	if n := len(b.steps); n != 1 || b.steps[0].Observation.OK {
		t.Errorf("recorded %+v", b.steps)
	}
	if got := <-answer; got != "the episode is over" {
		t.Errorf("answer %q", got)
	}
	if text, _, failed := b.call("list_files", nil); !failed || text != "the episode is over" {
		t.Errorf("after Close: %q", text)
	}
	if len(b.steps) != 1 {
		t.Error("a call was recorded after Close")
	}
	if err := b.World.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// TestSessionLeftOpen has a client of an older protocol go without a word, as one that is killed does: what is closed must not be
// held by its session.
func TestSessionLeftOpen(t *testing.T) {
	b := newBench(t, nil)
	l, err := ServeLocal(t.Context(), b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	tr := &mcp.StreamableClientTransport{Endpoint: "http://localhost" + mcpserve.Path, HTTPClient: unixClient(l.Socket), MaxRetries: -1}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	open := func() int { return len(slices.Collect(l.server.Sessions())) }
	if n := open(); n != 1 {
		t.Fatalf("%d sessions are open, want the client's", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := open(); n != 0 {
		t.Errorf("after Close %d sessions are open", n)
	}
}

func TestRunTests(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		limits tare.Limits
		want   map[string]any // of the structured result; a function checks the rest
		text   []string
	}{
		"passes":     {script: "echo 3 passed", want: map[string]any{"returncode": 0.0, "stdout": "3 passed\n", "stderr": "", "timed_out": false, "truncated": false}, text: []string{"returncode: 0", "3 passed"}},
		"fails":      {script: "echo 1 failed; echo oh >&2; exit 1", want: map[string]any{"returncode": 1.0, "stdout": "1 failed\n", "stderr": "oh\n", "timed_out": false}, text: []string{"returncode: 1", "stderr:\noh"}},
		"where":      {script: "pwd; echo $SRC; ls", want: map[string]any{"stdout": "/workspace\n/workspace/src\nREADME.md\nrun\nsrc\ntests\n"}},
		"no input":   {script: "cat; echo end", want: map[string]any{"stdout": "end\n"}},
		"writes":     {script: "echo x >>README.md && rm -r src && touch new && echo ok", want: map[string]any{"stdout": "ok\n"}},
		"no UTF-8":   {script: `printf 'caf\351'`, want: map[string]any{"stdout": "caf\ufffd"}},
		"looks json": {script: `echo '{"a": 1}'`, want: map[string]any{"stdout": "{\"a\": 1}\n"}},
		"hangs":      {script: "echo begun; sleep 1000", limits: tare.Limits{Check: 8 * time.Second}, want: map[string]any{"stdout": "begun\n", "timed_out": true, "ended": "wall"}, text: []string{"timed out: the run was ended after 8s"}},
		"talks":      {script: "echo head; yes | head -c 1000000; echo tail", want: map[string]any{"truncated": true, "returncode": 0.0}, text: []string{"head\ny\n", "bytes left out", "y\ntail"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Runner, c.Limits = shell{script: tt.script}, tt.limits })
			text, got, failed := b.call("run_tests", map[string]any{"note": "see"})
			if failed || len(b.steps) != 1 || !b.steps[0].Observation.OK {
				t.Fatalf("failed %v: %s", failed, text)
			}
			for k, v := range tt.want {
				if diff := cmp.Diff(v, got[k]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", k, diff)
				}
			}
			for _, part := range tt.text {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in %q", part, ends(text, 500))
				}
			}
			if len(text) > 3*maxTestOutput || len(b.steps[0].Observation.Preview) > maxTestPreview {
				t.Errorf("%d bytes, preview of %d", len(text), len(b.steps[0].Observation.Preview))
			}
			now, err := b.cfg.Workspace.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if c := b.cfg.Workspace.Base.Changes(now); len(c) > 0 {
				t.Errorf("running the tests changed %v", c)
			}
			if left, err := filepath.Glob(filepath.Join(b.cfg.Sandbox.StateDir(), "t-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind %v, %v", left, err)
			}
			if len(b.problems) > 0 {
				t.Errorf("problems: %v", b.problems)
			}
		})
	}
}

// broken is a sandbox that cannot run anything.
type broken struct{ sandbox.Sandbox }

func (broken) Run(context.Context, sandbox.Cmd) (sandbox.Result, error) {
	return sandbox.Result{}, fmt.Errorf("starting /usr/bin/bwrap in %s: no", "/var/tmp/tare-0/s1")
}

// TestNoHostPaths: the agent sees none of our paths, whichever way a call goes wrong.
func TestNoHostPaths(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Sandbox = broken{c.Sandbox} })
	b.link(b.outside, "away")
	b.call("run_tests", nil)
	b.call("read_file", map[string]any{"path": "away/secret"})
	b.call("read_file", map[string]any{"path": b.outside + "/x"})
	b.call("write_file", map[string]any{"path": "src/shop/stock.py/x", "content": ""})
	b.call("write_file", map[string]any{"path": "away/x", "content": ""})
	b.call("read_file", map[string]any{"path": "src"})
	b.call("list_files", nil)
	b.call("git_diff", nil)
	for _, s := range b.steps {
		for _, secret := range []string{sandbox.TempDir(), "bwrap", filepath.Base(b.cfg.Sandbox.StateDir())} {
			echo := strings.Contains(string(s.Call.Args), secret)  // the agent's own words
			link := s.Call.Tool == "git_diff" && secret != "bwrap" // and its own link's target
			if strings.Contains(s.Observation.Preview, secret) && !echo && !link {
				t.Errorf("%s %s shows %q: %s", s.Call.Tool, s.Call.Args, secret, s.Observation.Preview)
			}
		}
	}
	if len(b.problems) != 1 || !strings.Contains(b.problems[0].Error(), "bwrap") || b.steps[0].Observation.OK {
		t.Errorf("problems: %v", b.problems)
	}
	if !slices.ContainsFunc(b.steps, func(s tare.Step) bool { return strings.Contains(s.Observation.Preview, "not your doing") }) {
		t.Error("the agent was not told whose failure it was")
	}
}
