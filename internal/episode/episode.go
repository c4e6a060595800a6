// Package episode plays one agent in one world that it is handed, records what happened, and gathers the evidence. It
// judges nothing.
//
// An episode has four parts, in this order and never at once: a fresh workspace is made and shown to hold no answer; the
// agent plays, until it ends or a limit ends it; the world is closed, so that nobody can change the workspace any more;
// what is there is read and observed. A scenario has no workspace but an empty one for agents of others' making; what is
// observed of it, its world tells when it is closed. Whatever of ours fails on the way ends in a record that says so, with the stop reason
// world_error and the problem named: such an episode is lost, not graded.
package episode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tare"
	"tare/internal/agent"
	"tare/internal/evidence"
	"tare/internal/sandbox"
	"tare/internal/trajectory"
	"tare/internal/workspace"
)

// DefaultWall bounds an episode whose limits do not.
const DefaultWall = 10 * time.Minute

// ErrFixture says that a task tests the grader and is no work for agents.
var ErrFixture = errors.New("the task is a fixture for testing the grader and is not played by agents")

// Config says what to play.
type Config struct {
	Episode tare.Episode
	Agent   agent.Agent

	// Evidence says how to observe what the agent leaves: Task, Sandbox, Runner and Jobs are the caller's, Final is not. Of
	// the Task the agent sees the Brief and the seed. Only a ticket has a Runner.
	Evidence evidence.Request

	// Controls keeps what was observed of a vulnerability's unpatched tree and of its reference; nil keeps nothing.
	Controls *evidence.VulnCache

	// Serve opens the world that the agent acts through.
	Serve func(context.Context, World) (Served, error)

	// Record is where the trajectory goes as it happens; nil keeps it in the Record only.
	Record io.Writer

	// Scanner looks for answers within the agent's reach before it plays; nil looks for none. Executables are programs of
	// ours that the agent can run.
	Scanner     *workspace.Scanner
	Executables []string

	Canary tare.CanaryEvidence // of a canary: what was observed of its fixture beforehand
	Kept   string              // the directory of an agent that keeps one between episodes

	Proof bool             // the episode proves the grader: only then may the task be a fixture
	Keep  func(dir string) // when set, the workspace is left where it is and this is told where
	Now   func() time.Time // default time.Now
}

// A World is what Serve makes a world of.
type World struct {
	Workspace *workspace.Workspace // nil: a scenario has none
	Limits    tare.Limits
	Began     time.Time
	OnStep    func(tare.Step) // must be told of every call, one at a time
	OnProblem func(error)     // must be told what of ours failed during a call
}

// Served is a world that agents can reach.
type Served struct {
	Socket    string            // MCP over HTTP
	Patch     *agent.Patch      // of a vulnerability
	Mounts    []sandbox.Mount   // what agents of others' making find in their sandbox besides: a toolchain
	Env       map[string]string // and what goes with it
	Died      <-chan struct{}   // closed when it stopped answering though nobody closed it; may be nil
	Exhausted <-chan struct{}   // closed when a call was refused because the limit on calls was reached; may be nil
	Close     func() error      // returns when no call is under way; none is recorded after it

	Scenario func() *tare.ScenarioEvidence // of a scenario: what was observed, once it is closed
}

// Play plays one episode. An error means that it was not played, because the configuration is wrong, or that ctx ended;
// then the trajectory in Config.Record says how far it came. All else is in the record.
func Play(ctx context.Context, cfg Config) (tare.Record, error) {
	if err := cfg.check(); err != nil {
		return tare.Record{}, fmt.Errorf("playing %s: %w", cfg.Episode.Task, err)
	}
	if err := ctx.Err(); err != nil {
		return tare.Record{}, fmt.Errorf("playing %s: %w", cfg.Episode.Task, err)
	}
	p := &play{Config: cfg, began: cfg.Now()}
	var err error
	if p.steps, err = trajectory.Begin(cfg.Record, cfg.Episode, p.began); err != nil {
		return tare.Record{}, fmt.Errorf("playing %s: %w", cfg.Episode.Task, err)
	}
	ev, err := p.run(ctx)
	if err != nil {
		return tare.Record{}, fmt.Errorf("playing %s: %w", cfg.Episode.Task, err)
	}
	return tare.Record{Schema: tare.RecordSchema, TaskHash: cfg.Evidence.Task.Hash, Trajectory: p.steps.Trajectory(), Evidence: ev}, nil
}

func (c *Config) check() error {
	task, sb := c.Evidence.Task, c.Evidence.Sandbox
	if task == nil || sb == nil || c.Agent == nil || c.Serve == nil || task.Kind == tare.Ticket && c.Evidence.Runner == nil {
		return errors.New("task, sandbox, agent, world and, for a ticket, runner are required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	switch {
	case task.Kind != tare.Ticket && task.Kind != tare.Scenario && task.Kind != tare.Vuln && task.Kind != tare.Canary:
		return fmt.Errorf("a %s is not played here", task.Kind)
	case task.Category == tare.Fixture && !c.Proof:
		return ErrFixture
	case c.Episode.Task != task.ID || c.Episode.TaskHash != task.Hash:
		return fmt.Errorf("the episode is of %s %s, the task is %s %s", c.Episode.Task, c.Episode.TaskHash, task.ID, task.Hash)
	case c.Episode.Isolation != sb.Isolation():
		return fmt.Errorf("the episode asks for isolation %q, the sandbox has %q", c.Episode.Isolation, sb.Isolation())
	}
	return nil
}

// A play is one Play on its way.
type play struct {
	Config
	began time.Time
	steps *trajectory.Writer

	scenario *tare.ScenarioEvidence // what the world of a scenario told
	end      agent.Ending           // of the agent, as it gave it
	base     tare.Tree              // what the workspace held at first

	mu       sync.Mutex
	problems []tare.Problem
}

// problem notes a failure of ours.
func (p *play) problem(where string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, tare.Problem{Where: where, Error: strings.ToValidUTF8(err.Error(), "\ufffd")})
}

func (p *play) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.problems) > 0
}

// run goes through the parts. The error is that of ctx.
func (p *play) run(ctx context.Context) (tare.Evidence, error) {
	var ws *workspace.Workspace
	if p.wantsWorkspace() {
		ws = p.makeWorkspace(ctx)
	}
	if ws != nil {
		if p.Keep != nil {
			defer p.Keep(ws.Dir)
		} else {
			defer ws.Remove() // what cannot be removed now goes when the sandbox is closed
		}
	}
	var end agent.Ending
	if !p.failed() {
		end = p.act(ctx, ws)
		p.end = end
	}
	var final tare.Tree
	var left []string
	if ws != nil && !p.isScenario() && ctx.Err() == nil {
		final, left = p.snapshot(ws)
	}
	switch {
	case ctx.Err() != nil:
		end.Stop, end.Detail = tare.Cancelled, "cancelled"
	case p.failed():
		end.Stop, end.Detail = tare.WorldError, p.problems[0].Error
	}
	if end.Outside != nil {
		if err := p.steps.Outside(*end.Outside); err != nil && !p.failed() {
			p.problem("trajectory", err)
		}
	}
	if err := p.steps.Stop(end.Stop, end.Detail, end.Final, end.Usage, p.Now()); err != nil && !p.failed() {
		p.problem("trajectory", err)
	}
	if err := ctx.Err(); err != nil {
		return tare.Evidence{}, err
	}
	ev := tare.Evidence{Isolation: p.Evidence.Sandbox.Isolation(), Changes: []tare.Change{}, Runs: []tare.Run{}, Scenario: p.scenario}
	switch {
	case p.isScenario(): // its world has told all
	case end.Stop.Infrastructure() || p.failed():
		// Nothing is observed of an episode that is lost; what changed may help to see why.
		if final != nil {
			ev.Changes = append(ev.Changes, ws.Base.Changes(final)...)
		}
	default:
		var err error
		if ev, err = p.gather(ctx, final); err != nil {
			return tare.Evidence{}, err
		}
	}
	ev.LeftOut = left
	ev.Problems = append(ev.Problems, p.problems...)
	return ev, nil
}

// gather observes what the agent left.
func (p *play) gather(ctx context.Context, final tare.Tree) (tare.Evidence, error) {
	req := p.Evidence
	if req.Task.Kind == tare.Canary {
		return tare.Evidence{Isolation: req.Sandbox.Isolation(), Changes: append([]tare.Change{}, p.base.Changes(final)...), Runs: []tare.Run{}, Canary: p.replied()}, nil
	}
	if req.Task.Kind == tare.Vuln {
		return evidence.GatherVuln(ctx, evidence.VulnRequest{Task: req.Task, Final: final, Sandbox: req.Sandbox, Jobs: req.Jobs, Controls: true, Cache: p.Controls})
	}
	req.Final = final
	return evidence.Gather(ctx, req)
}

func (p *play) isScenario() bool { return p.Evidence.Task.Kind == tare.Scenario }

// wantsWorkspace reports whether the agent gets a directory: the one that a ticket is about, or one of its own to work in.
func (p *play) wantsWorkspace() bool {
	_, external := p.Agent.(agent.Exposer)
	return !p.isScenario() || external
}

// makeWorkspace lays the seed out and shows that no answer is within the agent's reach. It returns nil when there is no
// workspace.
func (p *play) makeWorkspace(ctx context.Context) *workspace.Workspace {
	sb := p.Evidence.Sandbox
	dir, err := sb.NewDir("w-*")
	if err != nil {
		p.problem("workspace", err)
		return nil
	}
	uid, gid := sb.Owner()
	ws, err := workspace.New(ctx, dir, p.Evidence.Task.Seed, workspace.Owner{UID: uid, GID: gid})
	if err != nil {
		p.problem("workspace", errors.Join(err, (&workspace.Workspace{Dir: dir}).Remove()))
		return nil
	}
	p.base = ws.Base
	if p.Scanner == nil {
		return ws
	}
	reach := workspace.Reach{Dir: ws.Dir, Git: true, Executables: p.Executables}
	if e, ok := p.Agent.(agent.Exposer); ok {
		x := e.Exposes(p.brief())
		reach.Extra, reach.Env, reach.Args = x.Dirs, x.Env, x.Args
	}
	leaks, err := p.Scanner.Scan(ctx, reach)
	if err != nil {
		p.problem("leak scan", err)
	}
	for _, l := range leaks {
		p.problem("leak scan", fmt.Errorf("the agent could read an answer: %s", l))
	}
	return ws
}

// brief is what the agent is shown.
func (p *play) brief() tare.Brief {
	b := p.Evidence.Task.BriefAt(p.Episode.Level)
	b.Limits = p.Episode.Limits
	return b
}

// replied is what was observed of a harness that was sent a canary.
func (p *play) replied() *tare.CanaryEvidence {
	ev := p.Canary
	ev.Phrasing, ev.Prompt = p.Episode.Level, p.brief().Text
	ev.Said, ev.Usage = p.end.Said, p.end.Usage
	return &ev
}

var errDied = errors.New("a server of the agent's stopped answering")

var errTurns = errors.New("the limit on tool calls is reached")

// act lets the agent play and returns when neither it nor the world can change the workspace any more.
func (p *play) act(ctx context.Context, ws *workspace.Workspace) agent.Ending {
	served, err := p.Serve(ctx, World{
		Workspace: ws, Limits: p.Episode.Limits, Began: p.began,
		OnStep: func(s tare.Step) {
			if err := p.steps.Step(s); err != nil {
				p.problem("trajectory", err)
			}
		},
		OnProblem: func(err error) { p.problem("world", err) },
	})
	if err != nil {
		p.problem("world", err)
		return agent.Ending{}
	}
	wall := p.Episode.Limits.Wall
	if wall <= 0 {
		wall = DefaultWall
	}
	limited, cancel := context.WithTimeout(ctx, wall)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-served.Exhausted:
			cancel()
		case <-served.Died:
			p.problem("world", errDied)
			cancel()
		case <-limited.Done():
		}
	}()
	world := agent.World{Socket: served.Socket, Patch: served.Patch, Sandbox: p.Evidence.Sandbox, Mounts: served.Mounts, Env: served.Env, Kept: p.Kept}
	if ws != nil {
		world.Dir = ws.Dir
	}
	world.OnTurn = func(t tare.ModelTurn) {
		t.At = max(0, p.Now().Sub(p.began).Seconds()-t.Seconds)
		if err := p.steps.Turn(t); err != nil {
			p.problem("trajectory", err)
		}
	}
	world.OnApproval = func(c tare.Approval) {
		c.At = p.Now().Sub(p.began).Seconds()
		if err := p.steps.Approval(c); err != nil {
			p.problem("trajectory", err)
		}
	}
	end, err := p.Agent.Play(limited, p.brief(), world)
	timeUp := errors.Is(limited.Err(), context.DeadlineExceeded)
	cancel()
	<-watched
	if err := served.Close(); err != nil {
		p.problem("world", err)
	}
	if served.Scenario != nil {
		p.scenario = served.Scenario()
	}
	return p.settle(end, err, closed(served.Exhausted), timeUp)
}

// settle is the ending with what the agent cannot know about it: that it was ended by the limit on calls, or by time.
func (p *play) settle(end agent.Ending, err error, exhausted, timeUp bool) agent.Ending {
	switch {
	case exhausted: // even if it went on to say that it is done: it was stopped in the middle
		end.Stop, end.Detail = tare.TurnLimit, fmt.Sprintf("%v: %d", errTurns, p.Episode.Limits.Turns)
	case err != nil:
		p.problem("agent", err)
	case end.Stop == tare.Cancelled && timeUp:
		end.Stop = tare.WallLimit
	case end.Stop == "":
		p.problem("agent", errors.New("the agent ended without a reason"))
	}
	return end
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true // a nil channel never gets here
	default:
		return false
	}
}

// snapshot reads what the agent left. What had to be left out is the agent's doing and only named.
func (p *play) snapshot(ws *workspace.Workspace) (final tare.Tree, left []string) {
	final, err := ws.Snapshot()
	out, bad := workspace.LeftOut(err)
	if bad != nil {
		p.problem("snapshot", bad)
		return nil, nil
	}
	for _, o := range out {
		left = append(left, fmt.Sprintf("%q: %s", o.Path, o.Reason))
	}
	return final, left
}
