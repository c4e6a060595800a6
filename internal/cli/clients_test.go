package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare"
)

// clients is the folder that scripts/clients/install fills. What is not there is a failure: these tests are skipped nowhere.
func clients(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../../scripts/clients/install").Output()
	if err != nil {
		t.Fatalf("the agents and MCP clients that tests drive are not here: %v; 'make clients' installs them", err)
	}
	return strings.TrimSpace(string(out))
}

// model serves a script, and is gone when the test is.
func model(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "tare"), "mockmodel", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// A clientLine is what a verdict says and what of the record goes with it.
type clientLine struct {
	tare.Verdict
	Run     string       `json:"run"`
	Episode tare.Episode `json:"episode"`

	record tare.Record
	dir    string // of its files
}

// playClients has agents play a task with tare run, and returns what came of each by the name that it was given.
func playClients(t *testing.T, base string, want int, task string, agents []string, more ...string) map[string]clientLine {
	t.Helper()
	return startClients(t, base, task, agents, more...)(want)
}

// startClients is playClients in two parts: the agents play while the test does something else, and what it returns waits for them.
func startClients(t *testing.T, base, task string, agents []string, more ...string) func(want int) map[string]clientLine {
	t.Helper()
	state := t.TempDir()
	args := append([]string{"run", task, "--db", "files", "--format", "json", "-q", "--jobs", "3", "--state", state, "--clients", clients(t), "--agent", strings.Join(agents, ",")}, more...)
	cmd := exec.Command(filepath.Join(bin, "tare"), args...)
	cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+base, "OPENAI_BASE_URL="+base+"/v1", "ANTHROPIC_API_KEY=a-secret-of-the-user", "OPENAI_API_KEY=b-secret-of-the-user", "UNRELATED=secret-of-the-user")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // where nobody came to wait for it
	return func(want int) map[string]clientLine {
		t.Helper()
		err := cmd.Wait()
		return clientLines(t, state, agents, want, stdout.Bytes(), stderr.Bytes(), err)
	}
}

// clientLines is what came of agents that have played, by what tare run printed and how it ended.
func clientLines(t *testing.T, state string, agents []string, want int, out, stderr []byte, err error) map[string]clientLine {
	t.Helper()
	code := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		code = e.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	lines := map[string]clientLine{}
	for raw := range bytes.Lines(out) {
		var l clientLine
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		name := agents[slices.IndexFunc(agents, func(a string) bool { return strings.HasPrefix(l.Episode.Agent, a+"@") })]
		l.dir = filepath.Join(state, "runs", l.Run, strings.TrimPrefix(string(l.Episode.Key()), "sha256:")[:16])
		file := "record.json"
		if l.Cause == tare.CauseInfrastructure {
			file = "lost-0001.json"
			if _, err := os.Stat(filepath.Join(l.dir, file)); err != nil {
				file = "record.json"
			}
		}
		b, err := os.ReadFile(filepath.Join(l.dir, file))
		if err == nil {
			err = json.Unmarshal(b, &l.record)
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("secret-of-the-user")) {
			t.Errorf("%s: a key is in the record", name)
		}
		lines[name] = l
	}
	if code != want {
		for _, l := range lines {
			t.Logf("%s: %s, stop %s: %s, last message %q", l.Episode.Agent, l.Outcome, l.record.Trajectory.Stop, l.record.Trajectory.Detail, l.record.Trajectory.Final)
		}
		t.Fatalf("exit %d, want %d\n%s", code, want, stderr)
	}
	if len(lines) != len(agents) {
		t.Fatalf("%d verdicts of %d agents\n%s%s", len(lines), len(agents), out, stderr)
	}
	return lines
}

func tokens(u *tare.Usage) string {
	if u == nil || u.InputTokens == nil || u.OutputTokens == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d in, %d out", *u.InputTokens, *u.OutputTokens)
}

// scripted reports whether usage is that of so many of the script's answers, the last but one of which is of other figures than the rest.
// Of an answer that a client gave up on a busy machine, and asked for again, it may count both, or for once none: more is how often the gate
// saw that at most.
func scripted(u *tare.Usage, answers, more int) bool {
	more = max(more, 0)
	for plain := -min(more, 1); plain <= more; plain++ {
		for other := 0; plain+other <= more; other++ {
			if tokens(u) == fmt.Sprintf("%d in, %d out", 1200*(answers-1+plain)+1800*(1+other), 80*(answers-1+plain)+20*(1+other)) {
				return true
			}
		}
	}
	return false
}

// Real agents of three makers repair a ticket, over MCP alone or in the workspace with their own tools.
func TestClientsSolve(t *testing.T) {
	t.Parallel()
	agents := []string{"claude-code", "codex:direct", "pi"}
	base := model(t, "../../examples/mockmodel/bugfix_inventory.yaml")
	for name, l := range playClients(t, base, 0, "tickets/bugfix_inventory", agents) {
		tr := l.record.Trajectory
		steps, answers := 4, 5
		if strings.HasSuffix(name, ":direct") {
			steps, answers = 0, 4
		}
		asked, answered := 0, 0
		for _, e := range tr.Outside.Network {
			if e.For == tare.ForModel && e.Method == "POST" {
				asked++
				if !e.Failed() {
					answered++
				}
			}
		}
		if l.Outcome != tare.Pass || tr.Stop != tare.EndTurn || len(tr.Steps) != steps || !scripted(tr.Usage, answers, asked-answers) {
			t.Errorf("%s: %s, stop %s (%s), %d calls, %s, the gate saw %d requests", name, l.Outcome, tr.Stop, tr.Detail, len(tr.Steps), tokens(tr.Usage), asked)
		}
		if !strings.HasPrefix(tr.Final, "Each product is listed once now") {
			t.Errorf("%s: its last message is %q", name, tr.Final)
		}
		if answered < 4 {
			t.Errorf("%s: the gate saw %d answers of the model: %+v", name, answered, tr.Outside.Network)
		}
		dialog, err := os.ReadFile(filepath.Join(l.dir, "dialog.jsonl"))
		if err != nil || bytes.Count(dialog, []byte(`"type":"tool"`)) != 2*steps || !bytes.Contains(dialog, []byte(`"type":"complete","status":"success"`)) {
			t.Errorf("%s: its dialog is %s (%v)", name, dialog, err)
		}
	}
}

// The same agents, each in the other way, leave the bug of another ticket, and say that all is well.
func TestClientsLeaveTheBug(t *testing.T) {
	t.Parallel()
	agents := []string{"claude-code:direct:lazy", "codex:lazy", "pi:direct:lazy"}
	for name, l := range playClients(t, model(t, "testdata/clients/model.yaml"), 1, "tickets/bugfix_restock_exact_match", agents) {
		tr := l.record.Trajectory
		if l.Outcome != tare.Fail || l.RootGate != tare.GateBehaviour || tr.Stop != tare.EndTurn || tokens(tr.Usage) != "1400 in, 60 out" || tr.Final != "I looked, and all is well." {
			t.Errorf("%s: %s at %s, stop %s (%s), %s, %q", name, l.Outcome, l.RootGate, tr.Stop, tr.Detail, tokens(tr.Usage), tr.Final)
		}
	}
}

// An agent that hangs in a tool is ended with all that it started: some put tools into sessions of their own.
func TestClientsHang(t *testing.T) {
	agents := []string{"claude-code:direct:hangs", "codex:direct:hangs", "pi:direct:hangs"}
	played := startClients(t, model(t, "testdata/clients/model.yaml"), "tickets/bugfix_inventory", agents, "--wall", "45s")
	t.Parallel() // only now, when they have begun: last of all, the 45 seconds would be waited for with nothing beside them
	for name, l := range played(3) {
		tr := l.record.Trajectory
		if l.Outcome != tare.Unverified || tr.Stop != tare.WallLimit || !l.Unfinished {
			t.Errorf("%s: %s, stop %s (%s)", name, l.Outcome, tr.Stop, tr.Detail)
		}
		if !slices.ContainsFunc(l.record.Evidence.Changes, func(c tare.Change) bool { return c.Path == "tare-hangs-here" }) {
			t.Errorf("%s: it never hung: %+v", name, l.record.Evidence.Changes)
		}
	}
	running, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(running) == 0 {
		t.Fatal("no processes to look at", err)
	}
	for _, p := range running {
		if b, err := os.ReadFile(p); err == nil && bytes.Contains(b, []byte("tare-hangs-here")) {
			t.Errorf("%s is alive: %q", p, b)
		}
	}
}

// A service that refuses every request is no grade of the agent's, also where that ends with status 0.
func TestClientsRefused(t *testing.T) {
	t.Parallel()
	agents := []string{"claude-code:broken", "pi:broken"}
	for name, l := range playClients(t, model(t, "testdata/clients/model.yaml"), 3, "tickets/bugfix_inventory", agents) {
		tr := l.record.Trajectory
		if l.Outcome != tare.Unverified || l.Cause != tare.CauseInfrastructure || tr.Stop != tare.ProviderError || !strings.Contains(tr.Detail, "this request is not taken") {
			t.Errorf("%s: %s, cause %s, stop %s (%s)", name, l.Outcome, l.Cause, tr.Stop, tr.Detail)
		}
	}
}
