package episode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/agent"
	"tare/internal/check"
	"tare/internal/episode"
	"tare/internal/evidence"
	"tare/internal/oracle"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/tools"
	"tare/internal/trajectory"
	"tare/internal/workspace"
)

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

// quiet is a runner that runs nothing: its reports are never complete, so that evidence soon stops.
type quiet struct{}

var _ check.Runner = quiet{}

func (quiet) Command(string, []string) ([]string, map[string]string) {
	return []string{"/bin/echo", "ok"}, nil
}
func (quiet) Steers(string, tare.Tree) string { return "" }
func (quiet) IsTest(string) bool              { return false }
func (quiet) Tests(context.Context, sandbox.Sandbox, tare.Tree) ([]tare.TestNode, []string, error) {
	return nil, nil, nil
}
func (quiet) Run(context.Context, sandbox.Sandbox, check.TestRequest) (tare.Run, error) {
	return tare.Run{Command: []string{"tests"}}, nil
}
func (quiet) Probe(context.Context, sandbox.Sandbox, check.ProbeRequest) (tare.Run, error) {
	return tare.Run{Command: []string{"probe"}}, nil
}
func (quiet) Cross(_ context.Context, _ sandbox.Sandbox, text, _ tare.Tree, _ []string) (tare.Tree, error) {
	return text, nil
}
func (quiet) Rewrite(_ context.Context, _ sandbox.Sandbox, tree tare.Tree, _ []string) (tare.Tree, error) {
	return tree, nil
}
func (quiet) Poison(_ context.Context, _ sandbox.Sandbox, tree, _ tare.Tree, _ []string) (tare.Tree, error) {
	return tree, nil
}
func (quiet) Graft(_ context.Context, _ sandbox.Sandbox, tree, _ tare.Tree, _ []string) (tare.Tree, []string, error) {
	return tree, nil, nil
}

// an agent that is a function.
type played func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error)

func (played) Name() string { return "played" }
func (p played) Play(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
	return p(ctx, b, w)
}

// an agent that exposes a directory.
type exposed struct {
	played
	dir string
}

func (e exposed) Exposes(tare.Brief) agent.Exposure { return agent.Exposure{Dirs: []string{e.dir}} }

func done(context.Context, tare.Brief, agent.World) (agent.Ending, error) {
	return agent.Ending{Stop: tare.EndTurn, Final: "done"}, nil
}

const answer = "def total(prices):\n    running_sum_of_every_price = sum(prices)\n    return running_sum_of_every_price\n"

func task() *tare.Task {
	return &tare.Task{
		ID: "s/t", Kind: tare.Ticket, Title: "T", Category: tare.Development, Runner: "quiet", Ticket: "Mend it.\n",
		Seed:    tare.Tree{{Path: "src/cart.py", Mode: 0o644, Data: []byte("def total(prices):\n    return 0\n")}, {Path: "tests/test_cart.py", Mode: 0o644}},
		Sources: []string{"src"}, Visible: []string{"tests/test_cart.py::test"}, Hash: tare.HashBytes([]byte("task")),
		Cases:      []tare.Case{{ID: "c", Requirement: 1, Call: "total", Args: json.RawMessage("[[1]]")}},
		References: []tare.Reference{{Name: "a"}}, Twins: []tare.Twin{{Name: "t", Of: "a"}},
		Limits: tare.Limits{Check: 20 * time.Second},
	}
}

// serve wires the real tools in, as the command line does.
func serve(sb sandbox.Sandbox, r check.Runner) func(context.Context, episode.World) (episode.Served, error) {
	return func(ctx context.Context, w episode.World) (episode.Served, error) {
		l, err := tools.ServeLocal(ctx, tools.Config{
			Workspace: w.Workspace, Sandbox: sb, Runner: r, Sources: []string{"src"},
			Limits: w.Limits, Began: w.Began, OnStep: w.OnStep, OnProblem: w.OnProblem,
		})
		if err != nil {
			return episode.Served{}, err
		}
		return episode.Served{Socket: l.Socket, Exhausted: l.Exhausted(), Close: l.Close}, nil
	}
}

func config(a agent.Agent) episode.Config {
	t := task()
	return episode.Config{
		Episode:  tare.Episode{Task: t.ID, TaskHash: t.Hash, Agent: a.Name(), Limits: t.Limits, Isolation: shared.Isolation(), Trial: 1},
		Agent:    a,
		Evidence: evidence.Request{Task: t, Sandbox: shared, Runner: quiet{}},
		Serve:    serve(shared, quiet{}),
	}
}

// left lists what episodes left in the sandbox's state.
func left(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"w-*", "m-*", "s-*", "b-*", "t-*"} {
		found, err := filepath.Glob(filepath.Join(shared.StateDir(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

func TestPlay(t *testing.T) {
	var file bytes.Buffer
	a, err := agent.Scripted("reference", agent.Solution{
		Fix:  tare.Tree{{Path: "src/cart.py", Mode: 0o644, Data: []byte(answer)}},
		Test: tare.Tree{{Path: "tests/test_new.py", Mode: 0o644, Data: []byte("def test_new():\n    pass\n")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(a)
	cfg.Record = &file
	cfg.Scanner = workspace.NewScanner([]workspace.Secret{{Name: "reference a", Data: []byte(answer)}})
	rec, err := episode.Play(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Schema != tare.RecordSchema || rec.TaskHash != cfg.Evidence.Task.Hash {
		t.Errorf("schema %q, task %q", rec.Schema, rec.TaskHash)
	}
	tr := rec.Trajectory
	if tr.Stop != tare.EndTurn || tr.Final == "" || len(tr.Steps) != 2 || tr.Steps[0].Call.Tool != "write_file" || tr.Finished.Before(tr.Started) || tr.Episode != cfg.Episode {
		t.Errorf("trajectory %+v", tr)
	}
	if tr.Steps[0].Call.At < 0 || tr.Steps[1].Call.At > tr.Finished.Sub(tr.Started).Seconds()+1 {
		t.Errorf("calls at %v and %v of an episode of %v", tr.Steps[0].Call.At, tr.Steps[1].Call.At, tr.Finished.Sub(tr.Started))
	}
	kept, err := trajectory.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := canonical(t, tr), canonical(t, kept); want != got {
		t.Errorf("the file is not the record (-want +got):\n%s", cmp.Diff(want, got))
	}
	var changed []string
	for _, c := range rec.Evidence.Changes {
		changed = append(changed, c.Path)
	}
	if diff := cmp.Diff([]string{"src/cart.py", "tests/test_new.py"}, changed); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if len(rec.Evidence.Runs) != 2 || rec.Evidence.Isolation != shared.Isolation() || len(rec.Evidence.Problems) > 0 {
		t.Errorf("evidence %+v", rec.Evidence)
	}
	if l := left(t); len(l) > 0 {
		t.Errorf("left behind %v", l)
	}
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	b, err := tare.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSees: the agent gets the brief, with the episode's limits, and a workspace that holds the seed and nothing else.
func TestSees(t *testing.T) {
	cfg := config(played(nil))
	cfg.Episode.Limits = tare.Limits{Turns: 7, Wall: time.Minute}
	cfg.Agent = played(func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
		if diff := cmp.Diff(tare.Brief{Title: "T", Text: "Mend it.\n", Limits: cfg.Episode.Limits}, b); diff != "" {
			t.Errorf("brief (-want +got):\n%s", diff)
		}
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > time.Minute {
			t.Errorf("deadline %v, %v", until, ok)
		}
		tree, err := workspace.Read(w.Dir, workspace.ReadLimits{})
		if err != nil || tree.Digest() != task().Seed.Digest() {
			t.Errorf("workspace %v, %v", tree, err)
		}
		return done(ctx, b, w)
	})
	if _, err := episode.Play(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func TestRefused(t *testing.T) {
	acted := played(func(context.Context, tare.Brief, agent.World) (agent.Ending, error) {
		panic("played what must not be played")
	})
	for name, tt := range map[string]struct {
		alter func(*episode.Config)
		want  string
	}{
		"fixture":   {func(c *episode.Config) { c.Evidence.Task.Category = tare.Fixture }, "fixture"},
		"kind":      {func(c *episode.Config) { c.Evidence.Task.Kind = "riddle" }, "riddle"},
		"hash":      {func(c *episode.Config) { c.Episode.TaskHash = "sha256:other" }, "sha256:other"},
		"task":      {func(c *episode.Config) { c.Episode.Task = "s/u" }, "s/u"},
		"isolation": {func(c *episode.Config) { c.Episode.Isolation = "none" }, "isolation"},
		"no world":  {func(c *episode.Config) { c.Serve = nil }, "required"},
		"no agent":  {func(c *episode.Config) { c.Agent = nil }, "required"},
	} {
		cfg := config(acted)
		tt.alter(&cfg)
		var file bytes.Buffer
		cfg.Record = &file
		if _, err := episode.Play(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tt.want) || file.Len() > 0 {
			t.Errorf("%s: %v, recorded %q", name, err, file.String())
		}
	}
	cfg := config(played(done))
	cfg.Evidence.Task.Category = tare.Fixture
	if _, err := episode.Play(t.Context(), cfg); !errors.Is(err, episode.ErrFixture) {
		t.Errorf("fixture: %v", err)
	}
	cfg.Proof = true
	if rec, err := episode.Play(t.Context(), cfg); err != nil || rec.Trajectory.Stop != tare.EndTurn {
		t.Errorf("a fixture in a proof: %v, %v", rec.Trajectory.Stop, err)
	}
}

// failing fails every write after the first n.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// TestOurFailures: each ends in a record that says so, and in no grade.
func TestOurFailures(t *testing.T) {
	list := func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
		return tool(ctx, b, w, "list_files", `{}`)
	}
	for name, tt := range map[string]struct {
		alter       func(*episode.Config)
		where, what string
		played      bool
	}{
		"answer in the seed": {func(c *episode.Config) {
			c.Evidence.Task.Seed = append(slices.Clone(c.Evidence.Task.Seed), tare.File{Path: "z", Mode: 0o644, Data: []byte(answer)})
			c.Scanner = workspace.NewScanner([]workspace.Secret{{Name: "reference a", Data: []byte(answer)}})
		}, "leak scan", "reference a", false},
		"answer beside the agent": {func(c *episode.Config) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "notes"), []byte(answer), 0o644); err != nil {
				t.Fatal(err)
			}
			c.Agent = exposed{c.Agent.(played), dir}
			c.Scanner = workspace.NewScanner([]workspace.Secret{{Name: "reference a", Data: []byte(answer)}})
		}, "leak scan", "reference a", false},
		"nothing to scan": {func(c *episode.Config) {
			c.Agent = exposed{c.Agent.(played), "/nonexistent"}
			c.Scanner = workspace.NewScanner([]workspace.Secret{{Name: "reference a", Data: []byte(answer)}})
		}, "leak scan", "nonexistent", false},
		"seed that cannot be laid out": {func(c *episode.Config) {
			c.Evidence.Task.Seed = tare.Tree{{Path: ".git/config", Mode: 0o644}}
		}, "workspace", ".git", false},
		"world that does not open": {func(c *episode.Config) {
			c.Serve = func(context.Context, episode.World) (episode.Served, error) {
				return episode.Served{}, errors.New("no socket")
			}
		}, "world", "no socket", false},
		"world that does not close": {func(c *episode.Config) {
			c.Serve = func(context.Context, episode.World) (episode.Served, error) {
				return episode.Served{Close: func() error { return errors.New("stuck") }}, nil
			}
			c.Agent = played(done)
		}, "world", "stuck", true},
		"world that dies": {func(c *episode.Config) { // the agent, which would wait for ever, is stopped at once
			dead := make(chan struct{})
			c.Serve = func(context.Context, episode.World) (episode.Served, error) {
				return episode.Served{Died: dead, Close: func() error { return nil }}, nil
			}
			c.Agent = played(func(ctx context.Context, _ tare.Brief, _ agent.World) (agent.Ending, error) {
				close(dead)
				<-ctx.Done()
				return agent.Ending{Stop: tare.Cancelled}, nil
			})
		}, "world", "stopped answering", true},
		"agent of ours": {func(c *episode.Config) {
			c.Agent = played(func(context.Context, tare.Brief, agent.World) (agent.Ending, error) {
				return agent.Ending{Stop: tare.EndTurn}, errors.New("our bug")
			})
		}, "agent", "our bug", true},
		"no reason": {func(c *episode.Config) {
			c.Agent = played(func(context.Context, tare.Brief, agent.World) (agent.Ending, error) { return agent.Ending{}, nil })
		}, "agent", "without a reason", true},
		"trajectory": {func(c *episode.Config) { c.Record = &failing{1} }, "trajectory", "disk full", true},
		"tool": {func(c *episode.Config) {
			c.Agent = played(func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
				if err := os.RemoveAll(w.Dir); err != nil {
					return agent.Ending{}, err
				}
				return tool(ctx, b, w, "git_diff", `{}`)
			})
		}, "world", "git_diff", true},
		"workspace gone": {func(c *episode.Config) {
			c.Agent = played(func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
				if err := os.RemoveAll(w.Dir); err != nil {
					return agent.Ending{}, err
				}
				return done(ctx, b, w)
			})
		}, "snapshot", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(played(list))
			tt.alter(&cfg)
			was := false
			inner := cfg.Agent
			watch := played(func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
				was = true
				return inner.Play(ctx, b, w)
			})
			cfg.Agent = watch
			if e, ok := inner.(exposed); ok {
				cfg.Agent = exposed{watch, e.dir}
			}
			rec, err := episode.Play(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			ev := rec.Evidence
			if !slices.ContainsFunc(ev.Problems, func(p tare.Problem) bool { return p.Where == tt.where && strings.Contains(p.Error, tt.what) }) {
				t.Errorf("problems %+v", ev.Problems)
			}
			if was != tt.played {
				t.Errorf("played: %v", was)
			}
			if stop := rec.Trajectory.Stop; stop != tare.WorldError && !(name == "trajectory" && stop == "") || len(ev.Runs) > 0 {
				t.Errorf("stop %q, %d runs", stop, len(ev.Runs))
			}
			if v := oracle.Judge(cfg.Evidence.Task, rec); v.Outcome != tare.Unverified || v.Cause != tare.CauseInfrastructure || v.Reward != nil {
				t.Errorf("judged %s by %s", v.Outcome, v.Cause)
			}
			if l := left(t); len(l) > 0 {
				t.Errorf("left behind %v", l)
			}
		})
	}
}

// tool calls one tool and ends.
func tool(ctx context.Context, _ tare.Brief, w agent.World, name, args string) (agent.Ending, error) {
	c, err := connect(ctx, w.Socket)
	if err != nil {
		return agent.Ending{}, err
	}
	defer c.Close()
	if err := call(ctx, c, name, args); err != nil {
		return agent.Ending{}, err
	}
	return agent.Ending{Stop: tare.EndTurn, Final: "done"}, nil
}

func TestTurnLimit(t *testing.T) {
	for calls, want := range map[int]tare.StopReason{2: tare.EndTurn, 3: tare.TurnLimit, 6: tare.TurnLimit} {
		var reached error
		cfg := config(played(func(ctx context.Context, _ tare.Brief, w agent.World) (agent.Ending, error) {
			c, err := connect(ctx, w.Socket)
			if err != nil {
				return agent.Ending{}, err
			}
			defer c.Close()
			for range calls {
				if err := call(ctx, c, "list_files", `{}`); err != nil {
					break // an agent that does not care why
				}
			}
			if calls > 2 {
				<-ctx.Done() // it is told to stop, not left to talk
				reached = ctx.Err()
			}
			return agent.Ending{Stop: tare.EndTurn, Final: "all done"}, nil
		}))
		cfg.Episode.Limits.Turns = 2
		rec, err := episode.Play(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		tr := rec.Trajectory
		if tr.Stop != want || len(tr.Steps) != min(calls, 3) || len(rec.Evidence.Runs) == 0 || len(rec.Evidence.Problems) > 0 {
			t.Errorf("%d calls: stop %q (%s), %d steps, evidence %+v", calls, tr.Stop, tr.Detail, len(tr.Steps), rec.Evidence)
		}
		if want == tare.TurnLimit && (tr.Steps[2].Observation.OK || !errors.Is(reached, context.Canceled)) {
			t.Errorf("%d calls: the call too many was %+v, ctx %v", calls, tr.Steps[2].Observation, reached)
		}
	}
}

func TestWallLimit(t *testing.T) {
	for name, own := range map[string]tare.StopReason{"says so": tare.WallLimit, "says cancelled": tare.Cancelled, "was done": tare.EndTurn} {
		cfg := config(played(func(ctx context.Context, _ tare.Brief, w agent.World) (agent.Ending, error) {
			if err := os.WriteFile(filepath.Join(w.Dir, "begun"), nil, 0o644); err != nil {
				return agent.Ending{}, err
			}
			<-ctx.Done()
			return agent.Ending{Stop: own}, nil
		}))
		cfg.Episode.Limits.Wall = time.Second
		rec, err := episode.Play(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		want := tare.WallLimit
		if own == tare.EndTurn {
			want = own // it had ended by itself; the clock only came near
		}
		if rec.Trajectory.Stop != want || len(rec.Evidence.Changes) != 1 || len(rec.Evidence.Runs) == 0 {
			t.Errorf("%s: stop %q, evidence %+v", name, rec.Trajectory.Stop, rec.Evidence)
		}
	}
}

// TestCancelled: an episode that is interrupted keeps its trajectory, with an end, and yields no record.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var file bytes.Buffer
	var before int
	cfg := config(played(func(inner context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
		if _, err := tool(inner, b, w, "list_files", `{}`); err != nil {
			return agent.Ending{}, err
		}
		before = bytes.Count(file.Bytes(), []byte("\n")) // as much as a kill would leave
		cancel()
		<-inner.Done()
		return agent.Ending{Stop: tare.Cancelled}, nil
	}))
	cfg.Record = &file
	if rec, err := episode.Play(ctx, cfg); !errors.Is(err, context.Canceled) || rec.Schema != "" {
		t.Errorf("record %+v, %v", rec, err)
	}
	tr, err := trajectory.Read(&file)
	if err != nil || tr.Stop != tare.Cancelled || len(tr.Steps) != 1 || before != 2 {
		t.Errorf("%d lines in mid-episode, then %+v, %v", before, tr, err)
	}
	if l := left(t); len(l) > 0 {
		t.Errorf("left behind %v", l)
	}
	if _, err := episode.Play(ctx, config(played(done))); !errors.Is(err, context.Canceled) {
		t.Errorf("began though cancelled: %v", err)
	}
}

func TestProviderError(t *testing.T) {
	rec, err := episode.Play(t.Context(), config(played(func(context.Context, tare.Brief, agent.World) (agent.Ending, error) {
		return agent.Ending{Stop: tare.ProviderError, Detail: "503"}, nil
	})))
	if err != nil || rec.Trajectory.Stop != tare.ProviderError || rec.Trajectory.Detail != "503" || len(rec.Evidence.Runs) > 0 || rec.Evidence.Changes == nil {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestLeftOutAndKept(t *testing.T) {
	var where string
	cfg := config(played(func(ctx context.Context, b tare.Brief, w agent.World) (agent.Ending, error) {
		if err := syscall.Mkfifo(filepath.Join(w.Dir, "pipe"), 0o666); err != nil {
			return agent.Ending{}, err
		}
		return done(ctx, b, w)
	}))
	cfg.Keep = func(dir string) { where = dir }
	rec, err := episode.Play(t.Context(), cfg)
	if err != nil || rec.Trajectory.Stop != tare.EndTurn || len(rec.Evidence.Runs) == 0 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if l := rec.Evidence.LeftOut; len(l) != 1 || !strings.Contains(l[0], `"pipe"`) {
		t.Errorf("left out %v", l)
	}
	if _, err := os.Lstat(filepath.Join(where, "pipe")); err != nil {
		t.Errorf("not kept: %v", err)
	}
	if err := (&workspace.Workspace{Dir: where}).Remove(); err != nil {
		t.Error(err)
	}
}

// TestTicket plays agents of every kind on a real ticket, all the way to a verdict.
func TestTicket(t *testing.T) {
	ticket, err := suite.LoadTask("../../suites/tickets/bugfix_inventory")
	if err != nil {
		t.Fatal(err)
	}
	ref := ticket.References[0]
	s := agent.Solution{Fix: ref.Fix, Test: ref.Test}
	for _, r := range ticket.Requirements {
		s.Requirements = append(s.Requirements, r.Text)
	}
	var secrets []workspace.Secret
	for _, x := range suite.Secrets(ticket) {
		secrets = append(secrets, workspace.Secret{Name: x.Name, Data: x.Data})
	}
	allowed := [][]byte{[]byte(ticket.Ticket)}
	for _, f := range ticket.Seed {
		allowed = append(allowed, f.Data)
	}
	runner, err := check.For(ticket.Runner)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := shared.NewDir("a-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "run_agent.sh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho I give up\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	scripted := func(name string) agent.Agent {
		a, err := agent.Scripted(name, s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	command, err := agent.Command("cmd:./run_agent.sh", program)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		agent   agent.Agent
		outcome tare.Outcome
		reward  float64 // -1: none
		stop    tare.StopReason
	}{
		{scripted("noop"), tare.Fail, 0.5, tare.EndTurn},
		{scripted("baseline"), tare.Fail, 0.85, tare.EndTurn},
		{scripted("advanced"), tare.Pass, 1, tare.EndTurn},
		{scripted("recovery"), tare.Pass, 1, tare.EndTurn},
		{agent.Tree("tree:reference", ticket.Seed.Overlay(ref.Fix).Overlay(ref.Test)), tare.Pass, 1, tare.EndTurn},
		{command, tare.Unverified, -1, tare.AgentCrash}, // what is missing may be so because it crashed
	} {
		t.Run(tt.agent.Name(), func(t *testing.T) {
			rec, err := episode.Play(t.Context(), episode.Config{
				Episode:  tare.Episode{Task: ticket.ID, TaskHash: ticket.Hash, Agent: tt.agent.Name(), Limits: ticket.Limits, Isolation: shared.Isolation(), Trial: 1},
				Agent:    tt.agent,
				Evidence: evidence.Request{Task: ticket, Sandbox: shared, Runner: runner},
				Serve:    serve(shared, runner),
				Record:   io.Discard,
				Scanner:  workspace.NewScanner(secrets, allowed...),
			})
			if err != nil {
				t.Fatal(err)
			}
			v := oracle.Judge(ticket, rec)
			reward := -1.0
			if v.Reward != nil {
				reward = *v.Reward
			}
			if rec.Trajectory.Stop != tt.stop || v.Outcome != tt.outcome || reward != tt.reward {
				b, _ := json.MarshalIndent(v, "", " ")
				t.Errorf("stop %s, verdict %s", rec.Trajectory.Stop, b)
			}
		})
	}
}
