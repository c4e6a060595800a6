package mcpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

const asServer = "TARE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serve())
	}
	os.Exit(m.Run())
}

// serve is a server over stdio, in the directory that it is told as an argument.
func serve() int {
	switch os.Args[1] {
	case "dies":
		fmt.Fprintln(os.Stderr, "no such licence")
		return 3
	case "leaves":
		child := exec.Command("sleep", os.Args[2])
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	if err := notes(os.Args[1]).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// notes is a server of notes: files of a directory. It was made for these tests and says little of itself.
func notes(dir string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	schema := func(props string) json.RawMessage {
		return json.RawMessage(`{"type": "object", "properties": ` + props + `}`)
	}
	text := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	add := func(name, props string, a *mcp.ToolAnnotations, do func(map[string]string) *mcp.CallToolResult) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: schema(props), Annotations: a, Description: "in " + dir}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in map[string]string
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return do(in), nil
		})
	}
	yes := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add("write", `{"path": {"type": "string"}, "text": {"type": "string"}}`, nil, func(in map[string]string) *mcp.CallToolResult {
		if err := os.WriteFile(in["path"], []byte(in["text"]), 0o600); err != nil {
			res := text("%v", err)
			res.IsError = true
			return res
		}
		return text("wrote %s", in["path"])
	})
	add("names", `{}`, yes, func(map[string]string) *mcp.CallToolResult {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		return text("%s", strings.Join(files, "\n"))
	})
	add("page", `{"from": {"type": "string"}}`, yes, func(in map[string]string) *mcp.CallToolResult {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		out := map[string]any{"files": []any{}}
		for i, f := range files {
			if f > in["from"] {
				b, _ := os.ReadFile(f)
				out["files"] = []any{map[string]any{"path": f, "text": string(b)}}
				if i+1 < len(files) {
					out["next"] = f
				}
				break
			}
		}
		return &mcp.CallToolResult{StructuredContent: out, Content: []mcp.Content{&mcp.TextContent{Text: "a page"}, &mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}}}
	})
	add("json", `{}`, yes, func(map[string]string) *mcp.CallToolResult { return text(`{"a": {"n": 1}}`) })
	add("refuses", `{}`, yes, func(map[string]string) *mcp.CallToolResult {
		res := text("not today")
		res.IsError = true
		return res
	})
	add("exits", `{}`, yes, func(map[string]string) *mcp.CallToolResult {
		fmt.Fprintln(os.Stderr, "out of paper")
		os.Exit(7)
		return nil
	})
	return s
}

// command is a proxy before this program as a server.
func command(t *testing.T, change func(*tare.MCPSpec)) *Proxy {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spec := tare.MCPSpec{Command: []string{self, "{dir}"}, Servers: []string{"notes"}, Dir: "/data", Env: map[string]string{asServer: "{dir}"}}
	if change != nil {
		change(&spec)
	}
	p, err := Open(t.Context(), Config{Spec: spec, Dir: dir, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return p
}

func ask(t *testing.T, p *Proxy, tool, args string) tare.Reply {
	t.Helper()
	r, err := p.Call(t.Context(), tool, json.RawMessage(args), nil)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r
}

func TestProxy(t *testing.T) {
	p := command(t, nil)
	hinted := map[string]tare.Hints{}
	for _, tool := range p.Catalogue().Tools {
		hinted[tool.Name] = tool.Hints
		if tool.Description != "in /data" {
			t.Errorf("%s is described as %q", tool.Name, tool.Description)
		}
	}
	if hinted["write"] != (tare.Hints{Destructive: true}) || hinted["names"] != (tare.Hints{ReadOnly: true, Idempotent: true}) {
		t.Errorf("hints %+v", hinted)
	}
	if r := ask(t, p, "write", `{"path": "/data/a", "text": "x"}`); r.IsError || r.Text != "wrote /data/a" || r.Content != nil {
		t.Errorf("write answers %+v", r)
	}
	if b, err := os.ReadFile(filepath.Join(p.cfg.Dir, "a")); err != nil || string(b) != "x" {
		t.Errorf("it wrote %q, %v", b, err)
	}
	if r := ask(t, p, "write", `{"path": "/data/no/a", "text": "x"}`); !r.IsError || !strings.Contains(r.Text, "/data/no/a") {
		t.Errorf("a refusal: %+v", r)
	}
	if r := ask(t, p, "fly", `{}`); !r.IsError {
		t.Errorf("a tool that is not there: %+v", r)
	}
	if r := ask(t, p, "page", `{}`); !strings.Contains(string(r.Data), `"path":"/data/a"`) || !strings.Contains(string(r.Content), `"image"`) {
		t.Errorf("page answers %+v", r)
	}
}

// TestOverHTTP puts the proxy before a server that runs by itself.
func TestOverHTTP(t *testing.T) {
	server := notes(t.TempDir())
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer h.Close()
	p, err := Open(t.Context(), Config{Spec: tare.MCPSpec{URL: h.URL, Servers: []string{"notes"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if r := ask(t, p, "json", `{}`); r.Text != `{"a": {"n": 1}}` {
		t.Errorf("answered %+v", r)
	}
}

func TestObserve(t *testing.T) {
	p := command(t, func(s *tare.MCPSpec) {
		s.Observe = []tare.ReadSpec{
			{Collection: "names", Tool: "names", Parse: "lines"},
			{Collection: "files", Tool: "page", Items: "files", Next: "next", Cursor: "from", ID: "path"},
			{Collection: "whole", Tool: "json", Parse: "json", Items: "a"},
			{Collection: "text", Tool: "json"},
			{Collection: "refused", Tool: "refuses"},
			{Collection: "nowhere", Tool: "json", Parse: "json", Items: "b"},
			{Collection: "no_json", Tool: "names", Parse: "json"},
			{Collection: "parts", Tool: "refuses"},
			{Collection: "parts", Tool: "json", Parse: "json", Items: "a"},
		}
	})
	for _, name := range []string{"a", "b", "c"} {
		ask(t, p, "write", fmt.Sprintf(`{"path": "/data/%s", "text": "<%s>"}`, name, name))
	}
	got, reads, err := p.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]tare.Collection{
		"names":   {Complete: true, Items: items(`{"id":"/data/a","value":"/data/a"}`, `{"id":"/data/b","value":"/data/b"}`, `{"id":"/data/c","value":"/data/c"}`)},
		"files":   {Complete: true, Items: items(`{"id":"/data/a","path":"/data/a","text":"\u003ca\u003e"}`, `{"id":"/data/b","path":"/data/b","text":"\u003cb\u003e"}`, `{"id":"/data/c","path":"/data/c","text":"\u003cc\u003e"}`)},
		"whole":   {Complete: true, Items: items(`{"id":"whole","n":1}`)},
		"text":    {Complete: true, Items: items(`{"id":"text","text":"{\"a\": {\"n\": 1}}"}`)},
		"refused": {Items: items()},
		"nowhere": {Items: items()},
		"no_json": {Items: items()},
		"parts":   {Items: items(`{"id":"parts","n":1}`)}, // of which one was refused
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(reads) != 11 || reads[1].OK != true || string(reads[2].Args) != `{"from":"/data/a"}` {
		t.Errorf("%d reads: %+v", len(reads), reads)
	}
}

func items(list ...string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, x := range list {
		out = append(out, json.RawMessage(x))
	}
	return out
}

func TestProxyFaults(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		fault   tare.FaultSpec
		isError bool
		text    string
		there   bool // whether the note was written
		applied *bool
	}{
		"lost answer": {tare.FaultSpec{Kind: tare.FaultTimeoutAfter}, true, `"code":"timeout"`, true, &yes},
		"never sent":  {tare.FaultSpec{Kind: tare.FaultTimeoutBefore}, true, `"code":"timeout"`, false, &no},
		"503":         {tare.FaultSpec{Kind: tare.FaultUnavailable, RetryAfter: 3 * time.Second}, true, `"retry_after_seconds":3`, false, &no},
		"late":        {tare.FaultSpec{Kind: tare.FaultDelay, Slower: time.Millisecond}, false, "wrote /data/a", true, nil},
		"damaged":     {tare.FaultSpec{Kind: tare.FaultCorrupted}, false, "wrote \ufffd\ufffd", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.fault.ID, tt.fault.Tool, tt.fault.Nth = "f", "write", 2
			p := command(t, func(s *tare.MCPSpec) { s.Faults = []tare.FaultSpec{tt.fault} })
			if r := ask(t, p, "write", `{"path": "/data/first", "text": ""}`); r.Fault != nil || r.IsError {
				t.Fatalf("the first call: %+v", r)
			}
			r := ask(t, p, "write", `{"path": "/data/a", "text": "x"}`)
			if r.IsError != tt.isError || !strings.Contains(r.Text, tt.text) {
				t.Errorf("answered %+v", r)
			}
			if diff := cmp.Diff(&tare.Injected{ID: "f", Kind: tt.fault.Kind, Applied: tt.applied}, r.Fault); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Stat(filepath.Join(p.cfg.Dir, "a")); (err == nil) != tt.there {
				t.Errorf("written: %v", err)
			}
		})
	}
}

// TestServersThatFail tells a failure of the world from an answer of it.
func TestServersThatFail(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		spec tare.MCPSpec
		want string
	}{
		"not there":    {tare.MCPSpec{Command: []string{"/no/such/server"}}, "no such file"},
		"ends at once": {tare.MCPSpec{Command: []string{self, "dies"}, Env: map[string]string{asServer: "1"}}, "no such licence"},
		"no address":   {tare.MCPSpec{URL: "http://127.0.0.1:1/mcp"}, "connecting to the server of the world"},
		"unobservable": {tare.MCPSpec{Command: []string{self, "x"}, Env: map[string]string{asServer: "1"}, Observe: []tare.ReadSpec{{Tool: "look"}}}, `no tool "look"`},
		"changes":      {tare.MCPSpec{Command: []string{self, "x"}, Env: map[string]string{asServer: "1"}, Observe: []tare.ReadSpec{{Tool: "write"}}}, "trusted: true"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Open(t.Context(), Config{Spec: tt.spec})
			if err == nil {
				p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("dies in the middle", func(t *testing.T) {
		p := command(t, nil)
		if r, err := p.Call(t.Context(), "exits", json.RawMessage(`{}`), nil); err == nil || !strings.Contains(err.Error(), "out of paper") {
			t.Errorf("got %+v, %v", r, err)
		}
		if _, _, err := p.Observe(t.Context()); err != nil {
			t.Errorf("nothing is observed, and %v", err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		p := command(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Call(ctx, "json", json.RawMessage(`{}`), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestNothingIsLeft starts a server that starts another process, and looks for that afterwards.
func TestNothingIsLeft(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("needs /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marker := fmt.Sprintf("8%d", time.Now().UnixNano()%1e9)
	p, err := Open(t.Context(), Config{Spec: tare.MCPSpec{Command: []string{self, "leaves", marker}, Env: map[string]string{asServer: "1"}}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if n := sleeping(t, marker); n != 1 {
		t.Fatalf("%d processes sleep", n)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	deadline := time.After(10 * time.Second)
	for sleeping(t, marker) > 0 { // a killed process takes a moment to go
		select {
		case <-deadline:
			t.Fatal("a process of the server's is left")
		default:
		}
	}
}

func sleeping(t *testing.T, marker string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && string(b) == "sleep\x00"+marker+"\x00" {
			n++
		}
	}
	return n
}
