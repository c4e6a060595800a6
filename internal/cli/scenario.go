package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/agent"
	"tare/internal/episode"
	"tare/internal/mcpproxy"
	"tare/internal/mcpserve"
	"tare/internal/platform"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/tools"
	"tare/internal/workspace"
)

// noop is the agent that every task has: it does nothing.
const noop = "noop"

// isOperator reports whether name is a scripted agent of a scenario.
func isOperator(name string, t *tare.Task) bool {
	return name == noop || slices.Contains(operators(t), name)
}

// operators lists the scripted agents that a scenario brings.
func operators(t *tare.Task) []string {
	var out []string
	for _, s := range t.Scenario.Scripts {
		out = append(out, s.Name)
	}
	return out
}

// operator is the scripted agent called name, which isOperator knows.
func operator(name string, t *tare.Task) agent.Agent {
	for _, s := range t.Scenario.Scripts {
		if s.Name == strings.TrimPrefix(name, controlAgent) {
			return agent.Operator(name, s)
		}
	}
	return agent.Operator(name, tare.AgentScript{})
}

// fitOperator says why an agent cannot be played on a scenario: there are its own scripts, noop, and commands.
func fitOperator(name string, t *tare.Task) error {
	if strings.HasPrefix(name, "cmd:") || isLive(name) || isPreset(name) || isOperator(name, t) {
		return nil
	}
	return usage("scenario %s has no agent %q; it has noop, %s, cmd:SCRIPT, presets, anthropic:MODEL and openai:MODEL", t.ID, name, strings.Join(operators(t), ", "))
}

// hasWorkspace refuses a task in which there is none to look into or to grade.
func hasWorkspace(t *tare.Task) error {
	if t.Kind == tare.Scenario {
		return usage("%s is a scenario: it has no workspace, and is graded from a record", t.ID)
	}
	return nil
}

// showScenario prints what a scenario asks for and expects.
func (a *app) showScenario(t *tare.Task, brief bool) error {
	w, c := a.stdout, t.Scenario
	fmt.Fprintf(w, "%s  %s\n%s, %s, %s\nproof: %s\n", t.ID, printable(t.Title), t.Kind, t.Category, t.Hash, a.proofOf(t).Status)
	list := func(head string, lines ...string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s:\n", head)
		for _, l := range lines {
			before := "  "
			for _, part := range report.Wrap(printable(l), widthOf(w)-len(before)-2) {
				fmt.Fprintf(w, "%s%s\n", before, part)
				before = "    "
			}
		}
	}
	list("world", describeWorld(c.World)...)
	var goal, route, mines []string
	for _, e := range c.Goal {
		goal = append(goal, e.Why)
	}
	for _, p := range c.Checkpoints {
		var tools []string
		for _, call := range p.Calls {
			tools = append(tools, call.Tools...)
		}
		line := p.ID + ": " + strings.Join(tools, " or ")
		if len(p.After) > 0 {
			line += ", after " + strings.Join(p.After, ", ")
		}
		route = append(route, line)
	}
	for _, m := range c.Minefields {
		mines = append(mines, fmt.Sprintf("%s: %s", m.Kind, m.Why))
	}
	list("goal", goal...)
	list("checkpoints", route...)
	list("minefields", mines...)
	list("agents", strings.Join(append([]string{noop}, operators(t)...), ", "))
	fmt.Fprintf(w, "\n%s\n", many(len(t.Controls), "control"))
	if brief {
		fmt.Fprintf(w, "\n%s\n", printable(strings.TrimSpace(t.Ticket)))
	}
	return nil
}

// describeWorld says what a world is and which faults are placed in it.
func describeWorld(w tare.WorldSpec) []string {
	var lines []string
	var faults []tare.FaultSpec
	switch {
	case w.Simulator != nil:
		lines, faults = []string{fmt.Sprintf("the simulated platform, as %s", w.Simulator.As)}, w.Simulator.Faults
	case w.MCP.URL != "":
		lines, faults = []string{"the MCP server at " + w.MCP.URL}, w.MCP.Faults
	default:
		lines, faults = []string{"an MCP server: " + strings.Join(w.MCP.Command, " ")}, w.MCP.Faults
	}
	for _, f := range faults {
		place := fmt.Sprintf("call %d", f.Nth)
		if f.Nth == 0 {
			place = fmt.Sprintf("%v of the calls", f.Rate)
		}
		lines = append(lines, fmt.Sprintf("fault %s: %s, in %s of %s", f.ID, f.Kind, place, f.Tool))
	}
	return lines
}

// stage opens the world of a scenario for the agent of one episode.
func (r *rig) stage(ctx context.Context, job run.Job, world episode.World, faults *mcpserve.Faults) (episode.Served, error) {
	t := job.Task
	backend, err := r.backend(ctx, job)
	if err != nil {
		return episode.Served{}, err
	}
	s, err := tools.ServeStage(ctx, tools.StageConfig{
		Spec: t.Scenario, Brief: t.Ticket, Backend: backend, Limits: world.Limits, NewDir: r.sb.NewDir,
		OnStep: world.OnStep, OnProblem: world.OnProblem, Began: world.Began, Now: r.now, Faults: faults,
	})
	if err != nil {
		return episode.Served{}, err
	}
	if r.byHand != nil {
		r.byHand.world = s
	}
	var seen *tare.ScenarioEvidence
	return episode.Served{
		Socket: s.Socket, Exhausted: s.Exhausted(),
		Close: func() error {
			var err error
			// The world is looked at when the agent's time is up, too.
			seen, err = s.Finish(context.WithoutCancel(ctx))
			return err
		},
		Scenario: func() *tare.ScenarioEvidence { return seen },
	}, nil
}

// backend is what carries out the tools of a scenario.
func (r *rig) backend(ctx context.Context, job run.Job) (tools.Backend, error) {
	t := job.Task
	if spec := t.Scenario.World.Simulator; spec != nil {
		p, err := platform.New(platform.Config{Spec: *spec, Consents: t.Scenario.Consents, Bugs: r.bugs})
		if err != nil {
			return nil, fmt.Errorf("opening the world of %s: %w", t.ID, err)
		}
		return tools.Simulated(p), nil
	}
	w, err := r.live(ctx, t, serverOf(job.Episode.World))
	if err != nil {
		return nil, fmt.Errorf("opening the world of %s: %w", t.ID, err)
	}
	return w, nil
}

// liveWorld is a server with a directory of its own.
type liveWorld struct {
	*mcpproxy.Proxy
	dir *workspace.Workspace
}

func (w liveWorld) Close() error { return errors.Join(w.Proxy.Close(), w.dir.Remove()) }

// live starts the server of a scenario, or connects to another one in its place.
func (r *rig) live(ctx context.Context, t *tare.Task, server string) (tools.Backend, error) {
	spec := *t.Scenario.World.MCP
	if server != "" {
		spec.Command, spec.URL = strings.Fields(server), ""
		if isURL(server) {
			spec.Command, spec.URL = nil, server
		}
	}
	if len(spec.Command) > 0 && strings.Contains(spec.Command[0], "/") { // it is started in a directory of its own
		spec.Command = slices.Clone(spec.Command)
		var err error
		if spec.Command[0], err = filepath.Abs(spec.Command[0]); err != nil {
			return nil, err
		}
	}
	top, err := r.sb.NewDir("l-*")
	if err != nil {
		return nil, err
	}
	held := &workspace.Workspace{Dir: top}
	real, err := filepath.EvalSymlinks(top) // as servers show it
	if err != nil {
		return nil, errors.Join(err, held.Remove())
	}
	dir := filepath.Join(real, "d")
	if err := workspace.Lay(dir, t.Seed, workspace.Owner{UID: -1, GID: -1}); err != nil {
		return nil, errors.Join(err, held.Remove())
	}
	p, err := mcpproxy.Open(ctx, mcpproxy.Config{Spec: spec, Dir: dir})
	if err != nil {
		return nil, errors.Join(err, held.Remove())
	}
	return liveWorld{p, held}, nil
}

func isURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// bugFlag lets a command switch on seeded bugs of simulated platforms. It serves those who test the graders, and is not
// shown to others.
func (a *app) bugFlag(c *cobra.Command) {
	c.Flags().StringSliceVar(&a.bugs, "bug", nil, "seeded bugs of the simulated platform to switch on")
	if err := c.Flags().MarkHidden("bug"); err != nil {
		panic(err) // it was added a line ago
	}
}

// serverFlag lets a command put another server in the place of that of live scenarios.
func (a *app) serverFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.server, "server", "", "the MCP server of live scenarios: a command with its arguments ({dir} is its directory) or a URL; default: the scenario's own")
}

// checkBugs refuses the name of a bug that no platform has.
func (a *app) checkBugs() error {
	for _, name := range a.bugs {
		if !slices.ContainsFunc(platform.Bugs(), func(b platform.Bug) bool { return b.Name == name }) {
			return usage("there is no seeded bug %q", name)
		}
	}
	return nil
}

// worldOf names the world of a scenario's episodes, with the seeded bugs that are switched on: with another one it is another
// episode.
func (r *rig) worldOf(t *tare.Task) string {
	switch {
	case t.Kind != tare.Scenario:
		return ""
	case t.Scenario.World.MCP != nil && r.server != "":
		return worldBy(r.server)
	case t.Scenario.World.MCP != nil:
		return "mcp"
	case len(r.bugs) > 0:
		return "simulator, with " + strings.Join(r.bugs, " and ")
	}
	return "simulator"
}

// worldBy names the world behind a server that stands in for a scenario's own. Of a program that is a file its hash is a part of
// the name: another build is another world.
func worldBy(server string) string {
	name := "mcp"
	if words := strings.Fields(server); len(words) > 0 && !isURL(server) && strings.Contains(words[0], "/") {
		if b, err := os.ReadFile(words[0]); err == nil {
			name += " " + scriptMark + short(tare.HashBytes(b))
		}
	}
	return name + ": " + server
}

// serverOf is the server that a world's name holds; "" where it is the scenario's own.
func serverOf(world string) string {
	kind, server, ok := strings.Cut(world, ": ")
	if !ok || kind != "mcp" && !strings.HasPrefix(kind, "mcp "+scriptMark) {
		return ""
	}
	return server
}
