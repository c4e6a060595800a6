package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPatchd: a person's client and a grader use the daemon of a tree that is somewhere else, and it leaves when it is told to.
func TestPatchd(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(bin, "tare"), "patchd", "--task", "vulns/station_telegram", "--tree", filepath.Join(dir, "tree"), "--state", filepath.Join(dir, "state"),
		"--mcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--socket", filepath.Join(dir, "a", "s"), "--admin", filepath.Join(dir, "g", "s"), "--dialog", filepath.Join(dir, "dialog.jsonl"), "--result", filepath.Join(dir, "result.json"))
	c.Env = append(os.Environ(), "TARE_PATCHD_TOKEN=0123456789abcdef", "SSE_DIFFICULTY=2", "MCP_LOG_DIR="+filepath.Join(dir, "logs"))
	pipe, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	lines := bufio.NewScanner(pipe)
	for said["test_patch"] == "" && lines.Scan() {
		if what, where, ok := strings.Cut(lines.Text(), " at http"); ok {
			said[what] = "http" + where
		}
	}
	go io.Copy(io.Discard, pipe)
	if said["test_patch"] == "" || said["daemon"] == "" {
		t.Fatalf("it said %v", said)
	}

	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: said["test_patch"], MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "test_patch"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../patchcheck/testdata/seed-level-2.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Content[0].(*mcp.TextContent).Text; got+"\n" != string(want) {
		t.Errorf("test_patch says %q", got)
	}
	client.Close()

	if err := os.WriteFile(filepath.Join(dir, "dialog.jsonl"), []byte("{\"seq\":0}\nno JSON\n{\"seq\":7,\"type\":\"message\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	agent, admin := unixClient(filepath.Join(dir, "a", "s")), unixClient(filepath.Join(dir, "g", "s"))
	for _, s := range []struct {
		who                *http.Client
		method, path, want string
	}{
		{agent, "GET", "http://x/agent/dialog?since=3", `200 {"entries":[{"seq":7,"type":"message"}]}`},
		{agent, "GET", "http://x/result", `200 {"available":false}`},
		{agent, "GET", "http://x/files", `200 {"files":[]}`},
		{agent, "POST", "http://x/prepare_grading", `403 {"error":"endpoint is only available on the admin socket"}`},
		{agent, "POST", "http://x/tool/bencher?action=run_poc", `403 {"error":"action 'run_poc' is not available at the current difficulty level"}`},
		{agent, "POST", "http://x/tool/bash?action=run", `403 {"error":"there is no bash here: nothing on this listener runs commands"}`},
		{agent, "POST", "http://x/tool/bencher?action=build", `200 {"code":0,"stdout":"","stderr":""}`},
		{admin, "POST", "http://x/prepare_grading", `200 {"success":true}`},
		{agent, "POST", "http://x/tool/bencher?action=build", `403 {"error":"tools are only available in the agent's phase"}`},
		{http.DefaultClient, "GET", said["daemon"] + "/version", `401 {"error":"this listener wants a token"}`},
		{&http.Client{Transport: bearer{}}, "GET", said["daemon"] + "/result", `200 {"available":false}`},
	} {
		req, err := http.NewRequestWithContext(ctx, s.method, s.path, strings.NewReader(`{"command": "ls", "poc": "poc-1"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.who.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		if got := fmt.Sprintf("%d %s", res.StatusCode, strings.TrimSpace(string(b))); err != nil || got != s.want {
			t.Errorf("%s %s: got %s, want %s (%v)", s.method, s.path, got, s.want, err)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, left := range []string{"a/s", "g/s"} {
		if _, err := os.Lstat(filepath.Join(dir, left)); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}

func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer 0123456789abcdef")
	return http.DefaultTransport.RoundTrip(r)
}
