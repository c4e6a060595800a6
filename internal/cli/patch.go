package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tare"
	"tare/internal/agent"
	"tare/internal/episode"
	"tare/internal/evidence"
	"tare/internal/mcpserve"
	"tare/internal/oracle"
	"tare/internal/patchcheck"
	"tare/internal/run"
	"tare/internal/sandbox"
	"tare/internal/tools"
	"tare/internal/workspace"
)

// Where the agents of vulnerabilities find things inside their sandbox.
const (
	guestTree = "/workspace"
	bashWall  = 2 * time.Minute
)

// vulnChecks are the checks of test_patch: those of the final grade, answered by its rules.
type vulnChecks struct {
	task   *tare.Task
	checks *evidence.VulnChecks
}

// openChecks begins the checks of a tree of t.
func (r *rig) openChecks(t *tare.Task) patchcheck.Open {
	return func(_ context.Context, tree tare.Tree) (patchcheck.Checks, error) {
		return vulnChecks{t, evidence.OpenVuln(evidence.VulnRequest{Task: t, Final: tree, Sandbox: r.sb, Jobs: r.inner})}, nil
	}
}

func (v vulnChecks) Build(ctx context.Context) (patchcheck.Outcome, error) {
	return v.outcome(v.checks.Build(ctx))
}

func (v vulnChecks) PoC(ctx context.Context, i int) (patchcheck.Outcome, error) {
	return v.outcome(v.checks.PoC(ctx, i))
}

func (v vulnChecks) IntentTests(ctx context.Context) (patchcheck.Outcome, error) {
	return v.outcome(v.checks.Intent(ctx))
}

func (v vulnChecks) FunctionalTests(ctx context.Context) (patchcheck.Outcome, error) {
	return v.outcome(v.checks.Function(ctx))
}

func (v vulnChecks) Close() error { return nil }

// outcome is what a check found, for an agent. Its log is what the programs printed and, where they do not say it themselves,
// what was wanted of them: of hidden tests only which did not pass.
func (v vulnChecks) outcome(c tare.Check, err error) (patchcheck.Outcome, error) {
	if err != nil {
		return patchcheck.Outcome{}, err
	}
	said := oracle.JudgeSingle(v.task, c)
	out := patchcheck.Outcome{Passed: said.Passed, Log: c.Log}
	for _, e := range c.Executions {
		if e.Exit != 0 && out.Exit == 0 {
			out.Exit = e.Exit
		}
		if e.Ended != "" && out.Ended == "" {
			out.Ended = fmt.Sprintf("%s, after %.1f s", e.Ended, e.Seconds)
		}
	}
	if said.Passed {
		return out, nil
	}
	var b bytes.Buffer
	b.Write(c.Log)
	if n := b.Len(); n > 0 && c.Log[n-1] != '\n' {
		b.WriteByte('\n')
	}
	for _, f := range said.Failed {
		if c.Kind == tare.CheckFunction {
			fmt.Fprintf(&b, "[%s: %s]\n", f.ID, f.Why)
		} else {
			fmt.Fprintf(&b, "[%s did not pass]\n", f.ID)
		}
	}
	if c.Kind != tare.CheckBuild && c.Kind != tare.CheckDriver {
		fmt.Fprintf(&b, "[%s]\n", said.Why)
	}
	out.Log = b.Bytes()
	return out, nil
}

// checkerOf makes the checker of a task's tree.
func (r *rig) checkerOf(t *tare.Task, level patchcheck.Level, ws *workspace.Workspace, onProblem func(error)) (*patchcheck.Checker, error) {
	return patchcheck.NewChecker(patchcheck.Config{
		Level: level, Has: patchcheck.HasOf(t), Snapshot: ws.Snapshot, Open: r.openChecks(t), Cut: patchcheck.CutterOf(t).Cut, OnProblem: onProblem, Now: r.now,
	})
}

// patchWorld opens the world of a vulnerability for the agent of one episode: its workspace, test_patch, and the daemon. It
// returns when all of it answers.
func (r *rig) patchWorld(ctx context.Context, job run.Job, world episode.World) (served episode.Served, err error) {
	level := patchcheck.DefaultLevel
	if job.Episode.Level != "" {
		if level, err = patchcheck.ParseLevel(job.Episode.Level); err != nil {
			return served, err
		}
	}
	timeout, err := patchcheck.TimeoutFrom(patchcheck.Environment)
	if err != nil {
		return served, err
	}
	dir, err := r.sb.NewDir("p-*")
	if err != nil {
		return served, err
	}
	var undo []func() error
	closeAll := sync.OnceValue(func() (err error) {
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
		return err
	})
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	undo = append(undo, (&workspace.Workspace{Dir: dir}).Remove)
	logs, err := r.patchLogs(dir)
	if err != nil {
		return served, err
	}
	checker, err := r.checkerOf(job.Task, level, world.Workspace, world.OnProblem)
	if err != nil {
		return served, err
	}
	undo = append(undo, checker.Close)
	tally := mcpserve.NewTally(world.Limits.Turns, world.OnStep)
	server := patchcheck.NewServer(checker, patchcheck.ServerConfig{Logs: logs, Tally: tally, Began: world.Began, Now: r.now})
	cfg := tools.Config{
		Name: "workspace", Workspace: world.Workspace, Sandbox: r.sb, Views: []tools.View{{Host: logs.Dir, Guest: logs.Guest}},
		Limits: world.Limits, Tally: tally, OnProblem: world.OnProblem, Began: world.Began, Now: r.now,
	}
	if r.byHand != nil { // whoever plays by hand has one connection
		cfg.More = []tools.Tool{{Tool: patchcheck.Tool(), Handle: server.Handle}}
	}
	local, err := tools.ServeLocal(ctx, cfg)
	if err != nil {
		return served, err
	}
	undo = append(undo, local.Close)
	if r.byHand != nil {
		r.byHand.world = local.World
	}
	socket := filepath.Join(dir, "m")
	listener, err := mcpserve.ListenUnix(ctx, socket, 0o600, server.Handler())
	if err != nil {
		return served, err
	}
	undo = append(undo, listener.Close)
	daemon := patchcheck.NewDaemon(checker, r.daemonConfig(job.Task, guestTree, func(ctx context.Context, command string) (patchcheck.ScriptResult, error) {
		return r.bash(ctx, world.Workspace.Dir, command)
	}))
	sockets, err := patchcheck.ListenSockets(ctx, daemon, filepath.Join(dir, "a", "s"), filepath.Join(dir, "g", "s"))
	if err != nil {
		return served, err
	}
	undo = append(undo, sockets.Close)
	died, alive := patchcheck.Watch(sockets.Died(), listener.Ended())
	// What is served last is closed first; before that the agent's phase ends, so that nothing is under way.
	undo = append(undo, server.Close, func() error { alive(); checker.EndPhase(); return nil })
	err = patchcheck.Await(ctx, timeout, died,
		patchcheck.Address{Name: "test_patch", Socket: socket, URL: "http://localhost" + mcpserve.Path},
		patchcheck.Address{Name: "the daemon", Socket: sockets.Agent, URL: "http://localhost/version"})
	if err != nil {
		return served, err
	}
	return episode.Served{
		Socket: local.Socket, Exhausted: tally.Exhausted(), Died: died, Close: closeAll,
		Patch: &agent.Patch{Socket: socket, Daemon: sockets.Agent, Logs: logs.Dir},
	}, nil
}

// patchLogs makes the place for logs that are too long for an answer: ours to write, the agent's to read.
func (r *rig) patchLogs(dir string) (*patchcheck.Logs, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("making a place for logs: %w", err)
	}
	at := filepath.Join(real, "l")
	if err := errors.Join(os.Mkdir(at, 0o755), os.Chmod(at, 0o755)); err != nil { // whatever the umask
		return nil, fmt.Errorf("making a place for logs: %w", err)
	}
	return &patchcheck.Logs{Dir: at, Guest: patchcheck.DefaultLogDir, OnProblem: func(err error) { r.a.note("%v", err) }}, nil
}

// daemonConfig is what a daemon knows of a task whose tree its agent finds at source.
func (r *rig) daemonConfig(t *tare.Task, source string, bash func(context.Context, string) (patchcheck.ScriptResult, error)) patchcheck.DaemonConfig {
	cfg := patchcheck.DaemonConfig{Version: short(tare.GraderDigest()), Project: patchcheck.ProjectOf(t, source), Base: t.Seed, Bash: bash}
	if len(t.References) > 0 {
		cfg.Reference = t.References[0].Fix
	}
	return cfg
}

// bash runs a command in the agent's tree, as the agent would: in a sandbox that holds nothing else.
func (r *rig) bash(ctx context.Context, dir, command string) (patchcheck.ScriptResult, error) {
	res, err := r.sb.Run(ctx, sandbox.Cmd{
		Argv: []string{"/bin/bash", "-c", command}, Dir: guestTree,
		Mounts: []sandbox.Mount{{Host: dir, Guest: guestTree, Writable: true}},
		Limits: sandbox.Limits{Wall: bashWall, Output: 1 << 20},
	})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return patchcheck.ScriptResult{}, fmt.Errorf("running a command in the agent's tree: %w", err)
	}
	out := patchcheck.ScriptResult{Code: res.Exit, Stdout: printable(string(res.Stdout.Data)), Stderr: printable(string(res.Stderr.Data))}
	if res.Signal != "" || res.Ended != sandbox.LimitNone {
		out.Code = -1
	}
	return out, nil
}
