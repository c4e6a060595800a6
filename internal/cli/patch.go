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
	kinds := map[patchcheck.Kind]tare.CheckKind{patchcheck.PoCs: tare.CheckPoC, patchcheck.IntentTests: tare.CheckIntent, patchcheck.FunctionalTests: tare.CheckFunction}
	return func(_ context.Context, tree tare.Tree, ahead []patchcheck.Kind) (patchcheck.Checks, error) {
		req := evidence.VulnRequest{Task: t, Final: tree, Sandbox: r.sb, Jobs: r.inner}
		for _, k := range ahead {
			req.Ahead = append(req.Ahead, kinds[k])
		}
		return vulnChecks{t, evidence.OpenVuln(req)}, nil
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

func (v vulnChecks) Close() error { return v.checks.Close() }

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
	cutter := sync.OnceValue(func() *patchcheck.Cutter { return patchcheck.CutterOf(t) }) // takes long, and most controls never ask
	return patchcheck.NewChecker(patchcheck.Config{
		Level: level, Has: patchcheck.HasOf(t), Snapshot: ws.Snapshot, Open: r.openChecks(t), OnProblem: onProblem, Now: r.now,
		Cut: func(text []byte) []byte { return cutter().Cut(text) },
	})
}

// patchWorld opens the world of a vulnerability for the agent of one episode: its workspace, test_patch, and the daemon. It
// returns when all of it answers.
func (r *rig) patchWorld(ctx context.Context, job run.Job, world episode.World, faults *mcpserve.Faults) (served episode.Served, err error) {
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
	w := &patchStack{rig: r, task: job.Task, world: world, dir: dir, faults: faults}
	w.add((&workspace.Workspace{Dir: dir}).Remove)
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := w.serve(ctx, level); err != nil {
		return served, err
	}
	died, alive := patchcheck.Watch(w.sockets.Died(), w.listener.Ended())
	// What is opened last is closed first; before all, the agent's phase ends, so that nothing is under way.
	w.add(func() error { alive(); w.checker.EndPhase(); return w.server.Close() })
	err = patchcheck.Await(ctx, timeout, died,
		patchcheck.Address{Name: "test_patch", Socket: w.socket, URL: "http://localhost" + mcpserve.Path},
		patchcheck.Address{Name: "the daemon", Socket: w.sockets.Agent, URL: "http://localhost/version"})
	if err != nil {
		return served, err
	}
	return episode.Served{
		Socket: w.local.Socket, Exhausted: w.tally.Exhausted(), Died: died, Close: sync.OnceValue(w.close),
		Patch: &agent.Patch{Socket: w.socket, Daemon: w.sockets.Agent, Logs: w.logs.Dir},
	}, nil
}

// A patchStack is all that serves one agent which repairs a vulnerability, in the order in which it was opened.
type patchStack struct {
	*rig
	task   *tare.Task
	world  episode.World
	dir    string
	faults *mcpserve.Faults // between the agent and both of its servers
	undo   []func() error

	checker  *patchcheck.Checker
	tally    *mcpserve.Tally
	logs     *patchcheck.Logs
	server   *patchcheck.Server
	local    *tools.Local
	socket   string // of test_patch
	listener *mcpserve.Listener
	sockets  *patchcheck.Sockets
}

func (w *patchStack) add(undo func() error) { w.undo = append(w.undo, undo) }

func (w *patchStack) close() (err error) {
	for i := len(w.undo) - 1; i >= 0; i-- {
		err = errors.Join(err, w.undo[i]())
	}
	return err
}

// serve opens it all.
func (w *patchStack) serve(ctx context.Context, level patchcheck.Level) (err error) {
	if w.logs, err = w.patchLogs(w.dir); err != nil {
		return err
	}
	if w.checker, err = w.checkerOf(w.task, level, w.world.Workspace, w.world.OnProblem); err != nil {
		return err
	}
	w.add(w.checker.Close)
	w.tally = mcpserve.NewTally(w.world.Limits.Turns, w.world.OnStep)
	w.server = patchcheck.NewServer(w.checker, patchcheck.ServerConfig{Logs: w.logs, Tally: w.tally, Began: w.world.Began, Now: w.now, Faults: w.faults})
	if err := w.workspace(ctx); err != nil {
		return err
	}
	w.socket = filepath.Join(w.dir, "m")
	if w.listener, err = mcpserve.ListenUnix(ctx, w.socket, 0o600, w.server.Handler()); err != nil {
		return err
	}
	w.add(func() error {
		err := w.listener.Close()
		mcpserve.EndSessions(w.server.MCP())
		return err
	})
	daemon := patchcheck.NewDaemon(w.checker, w.daemonConfig(w.task, guestTree, func(ctx context.Context, command string) (patchcheck.ScriptResult, error) {
		return w.bash(ctx, w.world.Workspace.Dir, command)
	}))
	if w.sockets, err = patchcheck.ListenSockets(ctx, daemon, filepath.Join(w.dir, "a", "s"), filepath.Join(w.dir, "g", "s")); err != nil {
		return err
	}
	w.add(w.sockets.Close)
	return nil
}

// workspace serves the tools over the agent's tree, of which none runs code. Whoever plays by hand has one connection, so there
// test_patch stands among them.
func (w *patchStack) workspace(ctx context.Context) (err error) {
	cfg := tools.Config{
		Name: "workspace", Workspace: w.world.Workspace, Sandbox: w.sb, Views: []tools.View{{Host: w.logs.Dir, Guest: w.logs.Guest}},
		Limits: w.world.Limits, Tally: w.tally, OnProblem: w.world.OnProblem, Began: w.world.Began, Now: w.now, Faults: w.faults,
	}
	if w.byHand != nil {
		cfg.More = []tools.Tool{{Tool: patchcheck.Tool(), Handle: w.server.Handle}}
	}
	if w.local, err = tools.ServeLocal(ctx, cfg); err != nil {
		return err
	}
	w.add(w.local.Close)
	if w.byHand != nil {
		w.byHand.world = w.local.World
	}
	return nil
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
