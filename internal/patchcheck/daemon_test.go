package patchcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/mcpserve"
)

// A rig is a daemon over a lab, on both sides.
type rig struct {
	*lab
	c            *Checker
	agent, admin *httptest.Server
}

func newRig(t *testing.T, level Level, alter ...func(*DaemonConfig)) *rig {
	t.Helper()
	r := &rig{lab: &lab{source: "int main;\n", scene: all()}}
	r.c = r.lab.checker(t, level)
	cfg := DaemonConfig{
		Version: "test", Project: Project{ID: "vulns/x", PoCs: []string{"poc-1", "poc-2"}},
		Base:      tare.Tree{{Path: "main.c", Mode: 0o644, Data: []byte("int main;\n")}},
		Reference: tare.Tree{{Path: "main.c", Mode: 0o644, Data: []byte("int fixed;\n")}},
	}
	for _, a := range alter {
		a(&cfg)
	}
	d := NewDaemon(r.c, cfg)
	r.agent, r.admin = httptest.NewServer(d.Handler(false)), httptest.NewServer(d.Handler(true))
	t.Cleanup(r.agent.Close)
	t.Cleanup(r.admin.Close)
	return r
}

// ask makes one request and returns its status and its body.
func ask(t *testing.T, s *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, strings.TrimSpace(string(b))
}

// actions are the bodies of every action of bencher.
var actions = []struct {
	kind Kind
	name string
	body string
}{
	{Build, "build", `{}`}, {FunctionalTests, "function_test", `{}`}, {IntentTests, "intent_test", `{}`}, {PoCs, "run_poc", `{"poc": "poc-1"}`},
}

// TestGate: on the agents' side each action is there at its levels and at no other, and never for grading; on the admin
// side all are at every level. What is refused runs nothing.
func TestGate(t *testing.T) {
	for level := FullAssistance; level <= NoBuild; level++ {
		r := newRig(t, level)
		if level.Enables(Build) {
			ask(t, r.agent, "POST", "/tool/bencher?action=build", `{}`)
		}
		for _, a := range actions {
			before := len(r.checked)
			status, body := ask(t, r.agent, "POST", "/tool/bencher?action="+a.name, a.body)
			want := fmt.Sprintf(`{"error":"action '%s' is not available at the current difficulty level"}`, a.name)
			if allowed := level.Enables(a.kind); allowed != (status == 200) || !allowed && (status != 403 || body != want || len(r.checked) != before) {
				t.Errorf("level %d, %s: %d %s, ran %v", level, a.name, status, body, r.checked[before:])
			}
			grading := strings.Replace(a.body, "{", `{"grading": true, `, 1)
			grading = strings.Replace(grading, ", }", "}", 1)
			if status, body := ask(t, r.agent, "POST", "/tool/bencher?action="+a.name, grading); status != 403 || !strings.Contains(body, adminOnly) {
				t.Errorf("level %d, %s for grading: %d %s", level, a.name, status, body)
			}
			if status, body := ask(t, r.admin, "POST", "/tool/bencher?action="+a.name, a.body); status != 200 {
				t.Errorf("level %d, %s on the admin side: %d %s", level, a.name, status, body)
			}
		}
		for _, route := range []string{"POST /prepare_grading", "POST /admin/agent_exited", "GET /reference/patch"} {
			method, path, _ := strings.Cut(route, " ")
			if status, body := ask(t, r.agent, method, path, "x"); status != 403 || body != `{"error":"endpoint is only available on the admin socket"}` {
				t.Errorf("level %d, %s: %d %s", level, route, status, body)
			}
		}
		if r.c.Over() {
			t.Errorf("level %d: an agent ended its phase", level)
		}
	}
}

// TestRoutes plays one whole story: an agent works, its phase ends, it is graded.
func TestRoutes(t *testing.T) {
	result := json.RawMessage(nil)
	r := newRig(t, NoFutureTest, func(c *DaemonConfig) {
		c.Bash = func(_ context.Context, command string) (ScriptResult, error) {
			return ScriptResult{3, "ran " + command, ""}, nil
		}
		c.Dialog = func(since int64) ([]json.RawMessage, error) {
			return []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"seq":%d}`, since+1))}, nil
		}
		c.Result = func() (json.RawMessage, error) { return result, nil }
	})
	type step struct{ side, request, body, want string }
	play := func(steps ...step) {
		t.Helper()
		for _, s := range steps {
			side := map[string]*httptest.Server{"agent": r.agent, "admin": r.admin}[s.side]
			method, path, _ := strings.Cut(s.request, " ")
			status, body := ask(t, side, method, path, s.body)
			if got := fmt.Sprintf("%d %s", status, body); got != s.want {
				t.Errorf("%s: %s %s\n got %s\nwant %s", s.side, s.request, s.body, got, s.want)
			}
		}
	}
	const gone = `403 {"error":"tools are only available in the agent's phase"}`
	play(
		step{"agent", "GET /version", "", `200 {"version":"test"}`},
		step{"agent", "GET /capabilities", "", `200 {"can_build":true,"can_run_poc":true,"has_function_test":true,"has_intent_test":true,"poc_count":2}`},
		step{"agent", "GET /project", "", `200 {"id":"vulns/x","project":"","language":"","source":"","task_description":{"issue":"","crash_report":null,"bug_description":""},"poc":["poc-1","poc-2"],"build_script":"","test_script":""}`},
		step{"agent", "GET /files", "", `200 {"files":[]}`},
		step{"agent", "GET /diff", "", `200 {"diff":""}`},
		step{"agent", "GET /result", "", `200 {"available":false}`},
		step{"agent", "GET /final_diff", "", `200 {"diff":""}`},
		step{"agent", "GET /agent/dialog?since=4", "", `200 {"entries":[{"seq":5}]}`},
		step{"agent", "GET /agent/dialog?since=x", "", `400 {"error":"since is no number"}`},
		step{"agent", "POST /tool/bash?action=run", `{"command": "ls"}`, `200 {"code":3,"stdout":"ran ls","stderr":""}`},
		step{"agent", "POST /tool/bash?action=run", `{}`, `500 {"error":"command is missing"}`},
		step{"agent", "POST /tool/bencher", `{}`, `400 {"error":"action is missing"}`},
		step{"agent", "POST /tool/bencher?action=build", `no JSON`, `400 {"error":"the body is not a JSON object of the form that is asked for"}`},
		step{"agent", "POST /tool/bencher?action=fuzz", `{}`, `500 {"error":"unknown action \"fuzz\""}`},
		step{"agent", "POST /tool/gdb?action=build", `{}`, `500 {"error":"unknown tool \"gdb\""}`},
		step{"agent", "GET /tool/bencher?action=build", ``, `404 {"error":"there is no such endpoint"}`},
		step{"agent", "GET /etc/passwd", ``, `404 {"error":"there is no such endpoint"}`},
		step{"admin", "POST /tool/bencher?action=run_poc", `{"poc": "poc-1"}`, `200 {"code":-1,"stdout":"","stderr":"project hasn't been built yet - call 'build' action first"}`},
		step{"agent", "POST /tool/bencher?action=build", `{}`, `200 {"code":0,"stdout":"build of int main;\n","stderr":""}`},
		step{"admin", "POST /tool/bencher?action=run_poc", `{"poc": "/etc/passwd"}`, `500 {"error":"\"/etc/passwd\" is none of the task's PoCs"}`},
		step{"admin", "POST /tool/bencher?action=build", `{"grading": true}`, `500 {"error":"grading hasn't been prepared yet - call prepare_grading first"}`},
	)
	r.set("int fixed;\n")
	play(
		step{"agent", "GET /files", "", `200 {"files":[{"path":"main.c","status":"modified","additions":1,"deletions":1}]}`},
		step{"admin", "POST /admin/agent_exited", "", `200 {"success":true}`},
		step{"admin", "POST /admin/agent_exited", "", `200 {"success":true}`},
		step{"agent", "POST /tool/bencher?action=build", `{}`, gone},
		step{"agent", "POST /tool/bash?action=run", `{"command": "ls"}`, gone},
		step{"agent", "POST /tool/bencher", `no JSON`, gone}, // before anything of the request is looked at
		step{"agent", "GET /version", "", `200 {"version":"test"}`},
		step{"admin", "POST /prepare_grading", "", `200 {"success":true}`},
		step{"admin", "POST /prepare_grading", "", `200 {"success":true}`},
		step{"admin", "POST /tool/bencher?action=build", `{"grading": true}`, `200 {"code":0,"stdout":"build of int fixed;\n","stderr":""}`},
		step{"admin", "POST /tool/bencher?action=run_poc", `{"grading": true, "poc": "poc-2"}`, `200 {"code":0,"stdout":"PoC1 of int fixed;\n","stderr":""}`},
	)
	result = json.RawMessage(`{"patch_result": {"status": "passed"}, "runtime_result": {"agent_timeout": false}, "config": {}}`)
	play(step{"agent", "GET /result", "", `200 {"available":true,"patch_result":{"status":"passed"},"runtime_result":{"agent_timeout":false}}`})
	if _, diff := ask(t, r.agent, "GET", "/final_diff", ""); !strings.Contains(diff, "+int fixed;") {
		t.Errorf("final diff: %s", diff)
	}
	if status, diff := ask(t, r.admin, "GET", "/reference/patch", ""); status != 200 || !strings.Contains(diff, "+int fixed;") {
		t.Errorf("reference: %d %s", status, diff)
	}
	if len(r.problems) > 0 {
		t.Error(r.problems)
	}
}

// TestFailuresOfOurs: what of ours failed is told the operator and not the agent.
func TestFailuresOfOurs(t *testing.T) {
	r := newRig(t, NoFutureTest)
	r.scene.fail = map[string]error{"build": errors.New("no space on /secret/place")}
	status, body := ask(t, r.agent, "POST", "/tool/bencher?action=build", `{}`)
	if status != 500 || body != `{"error":"`+InternalError+`"}` || len(r.problems) != 1 || !strings.Contains(r.problems[0].Error(), "/secret/place") {
		t.Errorf("%d %s, problems %v", status, body, r.problems)
	}
}

// TestReadsDuringABuild: routes that only read answer while an action is under way.
func TestReadsDuringABuild(t *testing.T) {
	r := newRig(t, NoFutureTest)
	r.gate, r.begun = make(chan struct{}), make(chan string, 1)
	built := make(chan string, 1)
	go func() {
		_, body := ask(t, r.agent, "POST", "/tool/bencher?action=build", `{}`)
		built <- body
	}()
	<-r.begun
	for _, path := range []string{"/version", "/project", "/capabilities", "/diff", "/files", "/agent/dialog", "/result", "/final_diff"} {
		if status, body := ask(t, r.agent, "GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	close(r.gate)
	if body := <-built; !strings.Contains(body, `"code":0`) {
		t.Error(body)
	}
}

// TestHole9TokenOnTCP: what is served on TCP answers nobody without the token, whatever the route.
func TestHole9TokenOnTCP(t *testing.T) {
	r := newRig(t, FullAssistance)
	d := NewDaemon(r.c, DaemonConfig{})
	l, err := mcpserve.ListenTCP(t.Context(), "127.0.0.1:0", WithToken("0123456789abcdef", d.Handler(false)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := strings.TrimSuffix(l.URL, mcpserve.Path)
	for _, route := range []string{"GET /version", "GET /diff", "POST /tool/bash?action=run", "POST /tool/bencher?action=build", "GET /nothing"} {
		for token, want := range map[string]bool{"": false, "Bearer ": false, "Bearer 0123456789abcde": false, "0123456789abcdef": false, "Bearer 0123456789abcdef": true} {
			method, path, _ := strings.Cut(route, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			if token != "" {
				req.Header.Set("Authorization", token)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if (res.StatusCode != 401) != want {
				t.Errorf("%s with %q: %d", route, token, res.StatusCode)
			}
		}
	}
}

// TestAgentsTalkToAPage: a page that a browser shows cannot use the daemon.
func TestAgentsTalkToAPage(t *testing.T) {
	r := newRig(t, FullAssistance)
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.agent.URL+"/tool/bencher?action=build", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/plain") // as a page can send it without asking first
	req.Header.Set("Origin", "https://evil.example")
	res, err := r.agent.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 403 || len(r.checked) > 0 {
		t.Errorf("%d, ran %v", res.StatusCode, r.checked)
	}
}

// TestHole15BaselineOutOfReach: what the baseline is does not hang on anything that the
// agent can reach.
func TestHole15BaselineOutOfReach(t *testing.T) {
	r := newRig(t, NoFutureTest)
	snapshot := r.c.cfg.Snapshot
	r.c.cfg.Snapshot = func() (tare.Tree, error) { // an agent that rewrote history
		tree, err := snapshot()
		return append(tree, tare.File{Path: ".git/HEAD", Mode: 0o644, Data: []byte("ref: refs/heads/forged\n")}), err
	}
	r.set("int changed;\n")
	_, diff := ask(t, r.agent, "GET", "/diff", "")
	if !strings.Contains(diff, "-int main;") || strings.Contains(diff, ".git") {
		t.Errorf("diff: %s", diff)
	}
}

func TestSocketModes(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, NoFutureTest)
	s, err := ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{Version: "v"}), filepath.Join(dir, "a", "agent.sock"), filepath.Join(dir, "b", "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	checkSockets(t, dir)
	if _, err := ListenSockets(t.Context(), NewDaemon(r.c, DaemonConfig{}), filepath.Join(dir, "a", "agent.sock"), filepath.Join(dir, "c", "admin.sock")); err == nil {
		t.Error("a second daemon takes the socket of a living one")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Died():
		t.Error("a daemon that was closed counts as dead")
	case <-time.After(0):
	}
}
