package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare"
	"tare/internal/agent"
	"tare/internal/check"
	"tare/internal/episode"
	"tare/internal/evidence"
	"tare/internal/mcpserve"
	"tare/internal/run"
	"tare/internal/sandbox"
	"tare/internal/suite"
	"tare/internal/tools"
	"tare/internal/workspace"
)

// play is production's player: every episode, control and solution goes through it.
func (r *rig) play(ctx context.Context, job run.Job, w io.Writer) (tare.Record, error) {
	return r.playBeside(ctx, job, w, beside{controls: r.controls})
}

// A beside is what others may have observed that a grading need not observe again; its zero value is nothing.
type beside struct {
	shared   *evidence.Shared    // of tickets
	controls *evidence.VulnCache // of vulnerabilities
}

// playBeside is play where others may have made some of the observations.
func (r *rig) playBeside(ctx context.Context, job run.Job, w io.Writer, with beside) (tare.Record, error) {
	who, err := r.agent(job)
	if err != nil {
		return tare.Record{}, err
	}
	scanner, err := r.scanner(job.Task)
	if err != nil {
		return tare.Record{}, err
	}
	cfg := episode.Config{
		Episode:  job.Episode,
		Agent:    who,
		Evidence: evidence.Request{Task: job.Task, Sandbox: r.sb, Jobs: r.inner, Shared: with.shared},
		Controls: with.controls,
		Record:   w,
		Scanner:  scanner,
		Now:      r.now,
		Proof:    job.Solution != nil || strings.HasPrefix(job.Episode.Agent, controlAgent),
	}
	if k, ok := who.(agent.Keeper); ok && k.Keeps() {
		if cfg.Kept, err = r.keptFor(job.Episode.Agent); err != nil {
			return tare.Record{}, err
		}
	}
	faults, err := faultsOf(job.Episode)
	if err != nil {
		return tare.Record{}, err
	}
	switch job.Task.Kind {
	case tare.Canary:
		cfg.Canary = r.shown[job.Task.Hash]
		cfg.Serve = func(ctx context.Context, world episode.World) (episode.Served, error) {
			return r.serveCanary(ctx, job.Task, world)
		}
	case tare.Scenario:
		cfg.Serve = func(ctx context.Context, world episode.World) (episode.Served, error) {
			return r.stage(ctx, job, world, faults)
		}
	case tare.Vuln:
		cfg.Serve = func(ctx context.Context, world episode.World) (episode.Served, error) {
			return r.patchWorld(ctx, job, world, faults)
		}
	default:
		runner, err := check.For(job.Task.Runner)
		if err != nil {
			return tare.Record{}, err
		}
		cfg.Evidence.Runner = runner
		cfg.Serve = func(ctx context.Context, world episode.World) (episode.Served, error) {
			return r.serve(ctx, job.Task, runner, world, faults)
		}
	}
	if (strings.HasPrefix(job.Episode.Agent, "cmd:") || isPresetLabel(job.Episode.Agent) || strings.HasPrefix(job.Episode.Agent, attemptAgent)) && r.a.bridgeAt() != "" {
		cfg.Executables = []string{r.a.bridgeAt()}
	}
	if r.keep {
		cfg.Keep = func(dir string) { r.keepWorkspace(job.Episode, dir) }
	}
	return episode.Play(ctx, cfg)
}

// faultsOf are the faults that an episode is played with. What comes at a rate is drawn by task, trial and seed, so that agents meet the
// same.
func faultsOf(ep tare.Episode) (*mcpserve.Faults, error) {
	list, err := mcpserve.ParseFaults(ep.Fault)
	if err != nil {
		return nil, err
	}
	return mcpserve.NewFaults(list, fmt.Sprintf("%s %d %d", ep.Task, ep.Trial, ep.Seed), nil), nil
}

// scriptMark parts the path of a command from the beginning of its script's hash: another script is another agent, and a
// resume must not return the verdict of the one before.
const scriptMark = "@"

// controlAgent begins the name of the agent of an episode that plays a control.
const controlAgent = "control:"

// agent makes the agent of a job. Scripted agents get a reference as data, another one each trial.
func (r *rig) agent(job run.Job) (agent.Agent, error) {
	name := job.Episode.Agent
	if job.Task.Kind == tare.Scenario && isOperator(strings.TrimPrefix(name, controlAgent), job.Task) {
		return operator(name, job.Task), nil
	}
	switch {
	case job.Solution != nil:
		return agent.Tree(name, job.Solution), nil
	case r.byHand != nil && name == byHandAgent:
		return r.byHand, nil
	case isLive(name):
		return r.a.liveAgent(name, job.Episode.Policy)
	case isPresetLabel(name):
		return r.a.presetAgent(name, job.Episode.Policy)
	case strings.HasPrefix(name, "cmd:"):
		script := strings.TrimPrefix(name, "cmd:")
		if i := strings.LastIndex(script, scriptMark); i >= 0 {
			script = script[:i]
		}
		to, err := r.loneScript(script, false)
		if err != nil {
			return nil, err
		}
		if to != "" {
			script = to
		}
		return agent.Command(name, script)
	case strings.HasPrefix(name, attemptAgent):
		return r.attacker(name)
	case isCheater(strings.TrimPrefix(name, controlAgent)):
		return r.cheater(strings.TrimPrefix(name, controlAgent), job.Task)
	}
	if job.Task.Kind == tare.Canary { // there is nothing to carry out
		return agent.Scripted(name, agent.Solution{})
	}
	refs := job.Task.References
	if len(refs) == 0 {
		return nil, fmt.Errorf("task %s has no reference for agent %s to carry out", job.Task.ID, name)
	}
	ref := refs[(max(1, job.Episode.Trial)-1)%len(refs)]
	s := agent.Solution{Fix: ref.Fix, Test: ref.Test}
	for _, q := range job.Task.Requirements {
		s.Requirements = append(s.Requirements, q.Text)
	}
	return agent.Scripted(strings.TrimPrefix(name, controlAgent), s)
}

func isScripted(name string) bool { return slices.Contains(agent.ScriptedNames(), name) }

// serve opens the six tools over a workspace, for the agent of this episode alone.
func (r *rig) serve(ctx context.Context, task *tare.Task, runner check.Runner, world episode.World, faults *mcpserve.Faults) (episode.Served, error) {
	l, err := tools.ServeLocal(ctx, tools.Config{
		Workspace: world.Workspace, Sandbox: r.sb, Runner: runner, Sources: task.Sources, Limits: world.Limits,
		OnStep: world.OnStep, OnProblem: world.OnProblem, Began: world.Began, Now: r.now, Faults: faults,
	})
	if err != nil {
		return episode.Served{}, err
	}
	if r.byHand != nil {
		r.byHand.world = l.World
	}
	return episode.Served{Socket: l.Socket, Exhausted: l.World.Exhausted(), Close: l.Close}, nil
}

// checkRunner runs the tests of a fixture as its canary says.
type checkRunner struct {
	check.Runner
	argv []string
}

func (c checkRunner) Command(string, []string) ([]string, map[string]string) {
	return c.argv, map[string]string{}
}

func (c checkRunner) Provide(ctx context.Context, sb sandbox.Sandbox) (check.Provision, error) {
	return check.Provide(ctx, sb, c.Runner)
}

// serveCanary opens the six tools over a fixture, and readies the tools of its language for a command.
func (r *rig) serveCanary(ctx context.Context, task *tare.Task, world episode.World) (episode.Served, error) {
	how := task.Canary.Check
	var runner check.Runner = check.Pytest{}
	if how.Runner != "" {
		var err error
		if runner, err = check.For(how.Runner); err != nil {
			return episode.Served{}, err
		}
	}
	more, err := r.provision(ctx, how.Runner)
	if err != nil {
		return episode.Served{}, err
	}
	served, err := r.serve(ctx, task, checkRunner{runner, how.Argv}, world, nil)
	if err != nil {
		return served, errors.Join(err, more.Release())
	}
	done := served.Close
	served.Mounts, served.Env = more.Mounts, more.Env
	served.Close = func() error { return errors.Join(done(), more.Release()) }
	return served, nil
}

// scanner is the leak scan for a task: it looks for the task's own answers and for the tickets of all others.
func (r *rig) scanner(task *tare.Task) (*workspace.Scanner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.scanners[task.Hash]; s != nil {
		return s, nil
	}
	var secrets []workspace.Secret
	for _, s := range suite.Secrets(task) {
		secrets = append(secrets, workspace.Secret(s))
	}
	for _, other := range r.known {
		if other.ID != task.ID {
			secrets = append(secrets, workspace.Secret{Name: "ticket of " + other.ID, Data: []byte(other.Ticket)})
		}
	}
	allowed := [][]byte{[]byte(task.Ticket)}
	for _, f := range task.Seed {
		allowed = append(allowed, f.Data)
	}
	s := workspace.NewScanner(secrets, allowed...)
	r.scanners[task.Hash] = s
	return s, nil
}

// forget lets go of what is kept for the episodes of a task of which there are no more.
func (r *rig) forget(task *tare.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.scanners, task.Hash)
}

// keepWorkspace moves a workspace out of the sandbox's state, which is cleared at the end, into the store's directory.
func (r *rig) keepWorkspace(ep tare.Episode, dir string) {
	short := strings.TrimPrefix(string(ep.Key()), "sha256:")[:16]
	place := filepath.Join(r.a.state, "workspaces", short)
	ws := &workspace.Workspace{Dir: dir}
	tree, err := ws.Snapshot()
	if _, bad := workspace.LeftOut(err); bad != nil {
		r.a.note("the workspace of %s by %s cannot be kept: %v", ep.Task, ep.Agent, bad)
		return
	}
	err = errors.Join(os.RemoveAll(place), os.MkdirAll(filepath.Dir(place), 0o755))
	if err == nil {
		err = workspace.Lay(place, tree, workspace.Owner{UID: -1, GID: -1})
	}
	if err = errors.Join(err, ws.Remove()); err != nil {
		r.a.note("the workspace of %s by %s cannot be kept: %v", ep.Task, ep.Agent, err)
		return
	}
	r.a.note("the workspace of %s by %s is in %s", ep.Task, printable(ep.Agent), place)
}
