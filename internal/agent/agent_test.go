package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/agent"
	"tare/internal/check"
	"tare/internal/sandbox"
	"tare/internal/tools"
	"tare/internal/trajectory"
	"tare/internal/workspace"
)

// patience bounds what a test waits for; the machine may be busy.
const patience = 2 * time.Minute

var shared sandbox.Sandbox

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	state, err := os.MkdirTemp(sandbox.TempDir(), "tare-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	if err := os.Chmod(state, 0o711); err != nil {
		panic(err)
	}
	bridge := filepath.Join(state, "tare-bridge")
	build := exec.Command("go", "build", "-o", bridge, "tare/cmd/tare-bridge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building the bridge: %v\n%s", err, out))
	}
	shared, err = sandbox.Open(context.Background(), sandbox.Options{StateRoot: filepath.Join(state, "s"), Bridge: bridge})
	if err != nil {
		panic(err)
	}
	defer shared.Close()
	return m.Run()
}

func tree(t *testing.T, files ...tare.File) tare.Tree {
	t.Helper()
	out, err := tare.NewTree(files)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(p, s string) tare.File { return tare.File{Path: p, Mode: 0o644, Data: []byte(s)} }

const (
	bug     = "def total(prices):\n    return sum(prices[1:])\n"
	fixed   = "def total(prices):\n    return sum(prices)\n"
	visible = "from shop.cart import total\n\n\ndef test_empty():\n    assert total([]) == 0\n"
	genuine = "from shop.cart import total\n\n\ndef test_first_price_counts():\n    assert total([1, 2]) == 3\n"
)

func seed(t *testing.T) tare.Tree {
	return tree(t, text("src/shop/__init__.py", ""), text("src/shop/cart.py", bug), text("tests/test_cart.py", visible))
}

func solution(t *testing.T) agent.Solution {
	return agent.Solution{
		Fix:          tree(t, text("src/shop/cart.py", fixed)),
		Test:         tree(t, text("tests/test_first.py", genuine)),
		Requirements: []string{"The total counts every price.", "The total of no prices is 0."},
	}
}

var brief = tare.Brief{Title: "The first price is lost", Text: "Mend `total`.\n"}

// A stage is a world with its record.
type stage struct {
	agent.World
	ws *workspace.Workspace

	mu       sync.Mutex
	steps    *trajectory.Writer
	problems []error
}

// runner has a developer's command of its own, where script is set.
type runner struct {
	check.Runner
	script string
}

func (r runner) Command(dir string, sources []string) ([]string, map[string]string) {
	if r.script != "" {
		return []string{"/bin/sh", "-c", r.script}, nil
	}
	return r.Runner.Command(dir, sources)
}

func newStage(t *testing.T, limits tare.Limits, script string) *stage {
	t.Helper()
	dir, err := shared.NewDir("w-*")
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := shared.Owner()
	s := &stage{}
	if s.ws, err = workspace.New(t.Context(), dir, seed(t), workspace.Owner{UID: uid, GID: gid}); err != nil {
		t.Fatal(err)
	}
	if s.steps, err = trajectory.Begin(nil, tare.Episode{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	pytest, err := check.For("pytest")
	if err != nil {
		t.Fatal(err)
	}
	world, err := tools.ServeLocal(t.Context(), tools.Config{
		Workspace: s.ws, Sandbox: shared, Runner: runner{pytest, script}, Sources: []string{"src"}, Limits: limits,
		OnStep: func(step tare.Step) {
			if err := s.steps.Step(step); err != nil {
				t.Error(err)
			}
		},
		OnProblem: func(err error) { s.mu.Lock(); defer s.mu.Unlock(); s.problems = append(s.problems, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(world.Close(), s.ws.Remove()); err != nil {
			t.Error(err)
		}
		for _, p := range s.problems {
			t.Errorf("problem: %v", p)
		}
	})
	s.World = agent.World{Socket: world.Socket, Dir: s.ws.Dir, Sandbox: shared}
	return s
}

// final is the workspace as it is.
func (s *stage) final(t *testing.T) tare.Tree {
	t.Helper()
	out, err := s.ws.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// calls lists the calls so far: the tool, and the path when there is one, with ! where it failed.
func (s *stage) calls() []string {
	var out []string
	for _, step := range s.steps.Trajectory().Steps {
		line := step.Call.Tool
		if _, rest, ok := strings.Cut(string(step.Call.Args), `"path":"`); ok {
			line += " " + rest[:strings.Index(rest, `"`)]
		}
		if !step.Observation.OK {
			line += " !"
		}
		out = append(out, line)
	}
	return out
}

// script writes an agent's program into a directory of its own that the sandbox can reach.
func script(t *testing.T, body string) string {
	t.Helper()
	dir, err := shared.NewDir("a-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(dir, "run_agent.sh")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func command(t *testing.T, body string) agent.Agent {
	t.Helper()
	a, err := agent.Command("cmd:x", script(t, body))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// agents makes one of every kind.
func agents(t *testing.T) map[string]agent.Agent {
	out := map[string]agent.Agent{
		"tree":    agent.Tree("tree", seed(t).Overlay(solution(t).Fix)),
		"command": command(t, "echo done\n"),
	}
	for _, name := range agent.ScriptedNames() {
		a, err := agent.Scripted(name, solution(t))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = a
	}
	return out
}

// TestConformance holds every agent to what the interface promises.
func TestConformance(t *testing.T) {
	for kind, a := range agents(t) {
		t.Run(kind, func(t *testing.T) {
			if a.Name() == "" {
				t.Error("no name")
			}
			t.Run("ends", func(t *testing.T) {
				s := newStage(t, tare.Limits{}, "")
				end, err := a.Play(t.Context(), brief, s.World)
				if err != nil || end.Stop != tare.EndTurn {
					t.Fatalf("ended with %+v, %v", end, err)
				}
				checkFinal(t, end)
				for _, step := range s.steps.Trajectory().Steps {
					if step.Call.Note == "" {
						t.Errorf("step %d says not why", step.Call.Index)
					}
				}
			})
			t.Run("cancelled before", func(t *testing.T) {
				s := newStage(t, tare.Limits{}, "")
				before := s.final(t).Digest()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				end, err := a.Play(ctx, brief, s.World)
				if err != nil || end.Stop != tare.Cancelled {
					t.Errorf("ended with %+v, %v", end, err)
				}
				if s.final(t).Digest() != before || len(s.calls()) > 0 {
					t.Error("it acted though it had been cancelled")
				}
			})
			t.Run("late", func(t *testing.T) {
				s := newStage(t, tare.Limits{}, "")
				ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
				defer cancel()
				if end, err := a.Play(ctx, brief, s.World); err != nil || end.Stop != tare.WallLimit {
					t.Errorf("ended with %+v, %v", end, err)
				}
			})
			t.Run("together", func(t *testing.T) {
				type result struct {
					end agent.Ending
					err error
				}
				results := make(chan result, 3)
				var stages []*stage
				for range cap(results) {
					stages = append(stages, newStage(t, tare.Limits{}, ""))
				}
				for _, s := range stages {
					go func() {
						end, err := a.Play(t.Context(), brief, s.World)
						results <- result{end, err}
					}()
				}
				for range stages {
					if r := <-results; r.err != nil || r.end.Stop != tare.EndTurn {
						t.Errorf("ended with %+v, %v", r.end, r.err)
					}
				}
				for _, s := range stages[1:] {
					if diff := cmp.Diff(stages[0].calls(), s.calls()); diff != "" || s.final(t).Digest() != stages[0].final(t).Digest() {
						t.Errorf("two episodes differ:\n%s", diff)
					}
				}
			})
		})
	}
}

func checkFinal(t *testing.T, end agent.Ending) {
	t.Helper()
	if len(end.Final) > agent.MaxFinal || !utf8.ValidString(end.Final) {
		t.Errorf("last message of %d bytes, valid %v", len(end.Final), utf8.ValidString(end.Final))
	}
}

func TestScripted(t *testing.T) {
	look := []string{"list_files", "read_file src/shop/cart.py"}
	for name, tt := range map[string]struct {
		calls   []string
		changes []string
		final   string
	}{
		"noop":      {nil, nil, ""},
		"reference": {[]string{"write_file src/shop/cart.py", "write_file tests/test_first.py"}, []string{"src/shop/cart.py", "tests/test_first.py"}, "added a regression test in tests/test_first.py."},
		"baseline":  {slices.Concat(look, []string{"write_file src/shop/cart.py", "run_tests"}), []string{"src/shop/cart.py"}, "The fix is in src/shop/cart.py. All tests pass."},
		"advanced": {slices.Concat(look, []string{"search_code", "search_code", "read_file tests/test_cart.py", "write_file src/shop/cart.py", "write_file tests/test_first.py", "run_tests", "git_diff", "list_files"}),
			[]string{"src/shop/cart.py", "tests/test_first.py"}, "All tests pass."},
		"recovery": {[]string{"read_file lib/cart.py !", "list_files", "read_file src/shop/cart.py", "write_file src/shop/cart.py", "write_file tests/test_first.py", "run_tests"},
			[]string{"src/shop/cart.py", "tests/test_first.py"}, "All tests pass."},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agent.Scripted(name, solution(t))
			if err != nil {
				t.Fatal(err)
			}
			s := newStage(t, tare.Limits{}, "")
			end, err := a.Play(t.Context(), brief, s.World)
			if err != nil || end.Stop != tare.EndTurn || !strings.Contains(end.Final, tt.final) || tt.final == "" && end.Final != "" {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			if diff := cmp.Diff(tt.calls, s.calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			var changed []string
			for _, c := range s.ws.Base.Changes(s.final(t)) {
				changed = append(changed, c.Path)
			}
			if diff := cmp.Diff(tt.changes, changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			m := trajectory.Measure(s.steps.Trajectory(), nil)
			if want := map[string]int{"recovery": 1}[name]; m.Recoveries != want || m.Failures != want || m.Retries != want {
				t.Errorf("metrics %+v, want %d of failures, retries and recoveries", m, want)
			}
			if name == "advanced" {
				if note := s.steps.Trajectory().Steps[2].Call.Note; note != "requirement 1 of 2: The total counts every price." {
					t.Errorf("note %q", note)
				}
			}
		})
	}
}

func TestScriptedSaysWhenTestsFail(t *testing.T) {
	wrong := solution(t)
	wrong.Fix = tree(t, text("src/shop/cart.py", "def total(prices):\n    return 1\n"))
	a, err := agent.Scripted("baseline", wrong)
	if err != nil {
		t.Fatal(err)
	}
	end, err := a.Play(t.Context(), brief, newStage(t, tare.Limits{}, "").World)
	if err != nil || end.Stop != tare.EndTurn || !strings.Contains(end.Final, "Some tests fail") {
		t.Errorf("ended with %+v, %v", end, err)
	}
}

func TestScriptedRefused(t *testing.T) {
	s := solution(t)
	for name, tt := range map[string]struct {
		agent string
		s     agent.Solution
	}{
		"unknown": {"clever", s},
		"no fix":  {"baseline", agent.Solution{Test: s.Test}},
		"binary":  {"reference", agent.Solution{Fix: tree(t, text("x", "\xff"))}},
		"link":    {"reference", agent.Solution{Fix: s.Fix, Test: tree(t, tare.File{Path: "l", Mode: os.ModeSymlink, Data: []byte("x")})}},
	} {
		if _, err := agent.Scripted(tt.agent, tt.s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestScriptedMishap: what the world refuses ends the agent; what the world cannot do is ours.
func TestScriptedMishap(t *testing.T) {
	s := solution(t)
	s.Fix = tree(t, text(".git/config", "[core]\n"))
	a, err := agent.Scripted("reference", s)
	if err != nil {
		t.Fatal(err)
	}
	end, err := a.Play(t.Context(), brief, newStage(t, tare.Limits{}, "").World)
	if err != nil || end.Stop != tare.AgentCrash || !strings.Contains(end.Detail, ".git") {
		t.Errorf("ended with %+v, %v", end, err)
	}
	a, err = agent.Scripted("baseline", solution(t))
	if err != nil {
		t.Fatal(err)
	}
	if end, err := a.Play(t.Context(), brief, agent.World{Socket: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Errorf("no world: ended with %+v", end)
	}
}

// TestScriptedInterrupted: time that runs out in the middle of a call.
func TestScriptedInterrupted(t *testing.T) {
	a, err := agent.Scripted("baseline", solution(t))
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, tare.Limits{Check: 10 * time.Minute}, "sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	began := time.Now()
	end, err := a.Play(ctx, brief, s.World)
	if err != nil || end.Stop != tare.WallLimit || time.Since(began) > patience {
		t.Errorf("ended with %+v, %v after %v", end, err, time.Since(began))
	}
}

func TestTree(t *testing.T) {
	want, err := workspace.Canonical(tree(t,
		text("src/shop/cart.py", fixed),
		tare.File{Path: "run", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
		tare.File{Path: "closed", Mode: 0o400, Data: []byte("x")},
		tare.File{Path: "link", Mode: os.ModeSymlink, Data: []byte("../../etc/passwd")},
		tare.File{Path: "bytes", Mode: 0o644, Data: []byte{0, 0xff, '\r', '\n'}},
		tare.File{Path: "odd \xff name", Mode: 0o644},
		tare.File{Path: "empty", Mode: os.ModeDir | 0o755},
		text("tests", "a file where a directory was\n"),
	))
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, tare.Limits{}, "")
	// The workspace may hold what leads astray already, and what cannot be deleted at once.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(s.Dir, "run")), os.Symlink(filepath.Dir(outside), filepath.Join(s.Dir, "empty")),
		os.Mkdir(filepath.Join(s.Dir, "shut"), 0o755), os.WriteFile(filepath.Join(s.Dir, "shut/x"), nil, 0o644), os.Chmod(filepath.Join(s.Dir, "shut"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	head, err := os.ReadFile(filepath.Join(s.Dir, ".git/HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	with := append(slices.Clone(want), text(".git/HEAD", "not for the workspace"))
	end, err := agent.Tree("tree:x", with).Play(t.Context(), brief, s.World)
	if err != nil || end.Stop != tare.EndTurn || end.Final != "" {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	if c := want.Changes(s.final(t)); len(c) > 0 {
		t.Errorf("the workspace differs from the solution: %v", c)
	}
	if now, err := os.ReadFile(filepath.Join(s.Dir, ".git/HEAD")); err != nil || string(now) != string(head) {
		t.Errorf(".git was touched: %q, %v", now, err)
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "mine" {
		t.Errorf("outside: %q, %v", got, err)
	}
	// The sandbox's user must be able to work with it.
	res, err := shared.Run(t.Context(), sandbox.Cmd{Argv: []string{"/bin/sh", "-c", "./run && echo x >>closed2 && rm -r src tests"}, Dir: "/workspace", Mounts: []sandbox.Mount{{Host: s.Dir, Guest: "/workspace", Writable: true}}})
	if err != nil || res.Exit != 0 {
		t.Errorf("working in it: status %d, %v: %s", res.Exit, err, res.Stderr.Data)
	}
	if left, err := filepath.Glob(filepath.Join(shared.StateDir(), "s-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}

func TestTreeThatIsNone(t *testing.T) {
	bad := tare.Tree{text("a", ""), text("a/b", "")}
	if end, err := agent.Tree("x", bad).Play(t.Context(), brief, newStage(t, tare.Limits{}, "").World); err == nil {
		t.Errorf("ended with %+v", end)
	}
}
