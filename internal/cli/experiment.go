package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/agent"
	"tare/internal/experiment"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/suite"
	"tare/internal/trajectory"
)

type experimentFlags struct {
	agents, levels, servers, faults []string

	trials   int
	seed     int64
	jobs     int
	wall     time.Duration
	turns    int
	heldOut  bool
	proven   bool
	dryRun   bool
	html     string
	markdown string
	changed  func(flag string) bool
}

func (a *app) experiment() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "experiment FILE.yaml | TASK|SUITE… --agent A,B",
		Short: "Compare agents, levels, servers or faults on the same tasks, with paired statistics",
		Long: `experiment plays every arm on the same tasks and trials, in an order drawn by the seed, and says what the difference between
them is and what it is not: intervals, exact tests, and the smallest difference that so many episodes could have shown. What has no
verdict is counted apart, and bounds stand in the place of a rate that it would hide. Held-out tasks are left out unless they are asked for.

A file says what is compared (docs/experiments.md). Without one, every combination of --agent, --level, --server and --fault is
an arm, and each is compared with the first; --fault none is an arm without a fault.

Exit codes: 0 every episode has its verdict, whatever it is; 3 some have none; 2 bad input; 4 no rig; 130 interrupted. The same
command again goes on from what is finished.`,
		Example: "  tare experiment examples/experiments/baseline-advanced.yaml --html report.html\n  tare experiment tickets --agent baseline,advanced --trials 5 --dry-run\n  tare experiment tickets/bugfix_inventory --agent advanced --fault none --fault tool=run_tests,nth=1,kind=error",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.changed = c.Flags().Changed
			e, err := a.loadExperiment(args, f)
			if err != nil {
				return err
			}
			return a.runExperiment(c.Context(), e, f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.agents, "agent", nil, "without a file: the agents that are compared, separated by commas")
	fs.StringSliceVar(&f.levels, "level", nil, "without a file: the levels of vulnerabilities that are compared")
	fs.StringArrayVar(&f.servers, "server", nil, "without a file: an MCP server of live scenarios that is compared; give it again for each")
	fs.StringArrayVar(&f.faults, "fault", nil, "without a file: a fault that is compared, or none; give it again for each")
	fs.IntVar(&f.trials, "trials", 1, "episodes of each arm on each task; default: the file's")
	fs.Int64Var(&f.seed, "seed", 0, "seed of the order, the draws and the faults; default: the file's")
	fs.IntVar(&f.jobs, "jobs", runtime.NumCPU(), "episodes played at once; default: the file's")
	fs.DurationVar(&f.wall, "wall", 0, "time limit of an episode; default: the file's, else the task's")
	fs.IntVar(&f.turns, "turns", 0, "tool calls of an episode; default: the file's, else the task's")
	a.live.add(fs)
	a.presets.add(fs)
	fs.Lookup("policy").Usage = "without a file: the policies that are compared, of agents that ask a model, separated by commas"
	fs.BoolVar(&f.heldOut, "held-out", false, "play held-out tasks too")
	fs.BoolVar(&f.proven, "require-proven", false, "play nothing unless every grader is proven and every command has passed its canaries (exit 3)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say what would be played and what it would take, and play nothing")
	fs.StringVar(&f.html, "html", "", "also write the report as one HTML page to this file")
	fs.StringVar(&f.markdown, "markdown", "", "also write the report as Markdown to this file")
	return c
}

// loadExperiment reads what is to be compared, from a file or from flags.
func (a *app) loadExperiment(args []string, f experimentFlags) (*suite.Experiment, error) {
	var e *suite.Experiment
	if ext := filepath.Ext(args[0]); len(args) == 1 && (ext == ".yaml" || ext == ".yml") {
		for _, name := range []string{"agent", "policy", "level", "server", "fault"} {
			if f.changed(name) {
				return nil, usage("--%s goes without a file; %s says what is compared", name, args[0])
			}
		}
		b, err := os.ReadFile(args[0])
		if err != nil {
			return nil, usage("reading the experiment: %w", err)
		}
		if e, err = suite.LoadExperiment(args[0], b); err != nil {
			return nil, exit{exitUsage, err}
		}
		besideFile(e, filepath.Dir(args[0]))
	} else {
		if len(f.agents) == 0 {
			return nil, usage("experiment takes a file, or tasks with --agent; try --agent baseline,advanced")
		}
		e = &suite.Experiment{Tasks: args, Trials: f.trials, Stop: suite.StopRule{Infrastructure: 0.5, After: 10}, Arms: suite.Combinations(f.agents, strings.FieldsFunc(a.live.policy, func(r rune) bool { return r == ',' }), f.levels, f.servers, f.faults)}
	}
	for flag, set := range map[string]func(){
		"trials": func() { e.Trials = f.trials }, "seed": func() { e.Seed = f.seed }, "jobs": func() { e.Jobs = f.jobs },
		"wall": func() { e.Limits.Wall = f.wall }, "turns": func() { e.Limits.Turns = f.turns }, "held-out": func() { e.HeldOut = f.heldOut },
	} {
		if f.changed(flag) {
			set()
		}
	}
	if e.Jobs == 0 {
		e.Jobs = f.jobs
	}
	if e.Trials < 1 || e.Jobs < 1 {
		return nil, usage("--trials and --jobs are at least 1")
	}
	return e, nil
}

// besideFile makes what a file names by a relative path relative to its directory: tasks, agents and servers.
func besideFile(e *suite.Experiment, dir string) {
	beside := func(p string) string {
		if strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
			if joined := filepath.Join(dir, p); filepath.IsAbs(joined) || strings.HasPrefix(joined, "../") {
				return joined
			} else {
				return "./" + joined
			}
		}
		return p
	}
	for i := range e.Tasks {
		e.Tasks[i] = beside(e.Tasks[i])
	}
	for i := range e.Arms {
		arm := &e.Arms[i]
		for _, kind := range []string{"cmd:", "tree:"} {
			if p, ok := strings.CutPrefix(arm.Agent, kind); ok {
				arm.Agent = kind + strings.TrimPrefix(beside(p), "./")
			}
		}
		arm.Server, arm.Policy = beside(arm.Server), beside(arm.Policy)
	}
}

// A trialPlan is an experiment's plan: the jobs in their order, and which slot each is of.
type trialPlan struct {
	run.Plan
	slots  []experiment.Slot
	design experiment.Design
	tasks  []*tare.Task
}

func (a *app) runExperiment(ctx context.Context, e *suite.Experiment, f experimentFlags) error {
	tasks, err := a.tasks(e.Tasks)
	if err != nil {
		return err
	}
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		for _, arm := range e.Arms {
			if arm.Server == "" {
				if err := a.servers(tasks); err != nil {
					return err
				}
			}
		}
		a.server = e.Arms[0].Server // whose program was looked for, or is to be
		tasks, err := a.ready(ctx, tasks)
		if err != nil {
			return err
		}
		plan, err := a.experimentPlan(r, tasks, e)
		if err != nil {
			return err
		}
		if e.Budget.Episodes > 0 && len(plan.Jobs) > e.Budget.Episodes {
			return usage("%d episodes are planned, and the budget is %d: fewer trials, tasks or arms would fit", len(plan.Jobs), e.Budget.Episodes)
		}
		if f.dryRun {
			return a.dryRun(plan, e)
		}
		if f.proven {
			if err := a.requireProven(plan.Plan); err != nil {
				return err
			}
		}
		if err := a.canKeep(f.html, f.markdown); err != nil {
			return err
		}
		return a.playExperiment(ctx, r, plan, e, f)
	})
}

// experimentPlan makes the jobs of every arm as tare run makes them, and puts them in the order of the experiment.
func (a *app) experimentPlan(r *rig, tasks []*tare.Task, e *suite.Experiment) (trialPlan, error) {
	var out trialPlan
	arms := make([]map[string]run.Job, len(e.Arms))
	for i, arm := range e.Arms {
		if err := a.armPolicy(arm); err != nil {
			return out, exit{exitUsage, e.Bad(arm.Name, err)}
		}
		r.server = arm.Server
		plan, err := a.plan(r, tasks, runFlags{
			agents: []string{arm.Agent}, trials: e.Trials, seed: e.Seed, jobs: 1, wall: e.Limits.Wall, turns: e.Limits.Turns, level: arm.Level, heldOut: e.HeldOut, faults: arm.Faults,
		})
		if err != nil {
			return out, exit{exitUsage, e.Bad(arm.Name, err)}
		}
		arms[i] = map[string]run.Job{}
		for _, j := range plan.Jobs {
			arms[i][slotKey(j.Task.ID, j.Episode.Trial)] = j
		}
	}
	r.server = ""
	for _, t := range tasks { // those that every arm can be played on
		lacking := slices.IndexFunc(arms, func(jobs map[string]run.Job) bool { _, ok := jobs[slotKey(t.ID, 1)]; return !ok })
		if lacking < 0 {
			out.tasks = append(out.tasks, t)
			out.design.Tasks = append(out.design.Tasks, t.ID)
		} else if slices.ContainsFunc(arms, func(jobs map[string]run.Job) bool { _, ok := jobs[slotKey(t.ID, 1)]; return ok }) {
			a.note("left out: %s, which arm %s cannot be played on", t.ID, e.Arms[lacking].Name)
			out.design.LeftOut = append(out.design.LeftOut, t.ID)
		}
	}
	if len(out.tasks) == 0 {
		return out, usage("there is no task that every arm can be played on")
	}
	for i, t := range out.tasks {
		if slices.ContainsFunc(out.tasks[:i], func(o *tare.Task) bool { return o.ID == t.ID }) {
			return out, exit{exitUsage, e.Bad("", fmt.Errorf("two tasks are called %s", t.ID))}
		}
	}
	seen := map[tare.Digest]int{}
	for _, s := range experiment.Order(len(out.tasks), e.Trials, len(arms), e.Seed) {
		job := arms[s.Arm][slotKey(out.tasks[s.Task].ID, s.Trial)]
		if other, ok := seen[job.Episode.Key()]; ok && other != s.Arm {
			return out, exit{exitUsage, e.Bad(e.Arms[s.Arm].Name, fmt.Errorf("arms %q and %q are the same episodes", e.Arms[other].Name, e.Arms[s.Arm].Name))}
		}
		seen[job.Episode.Key()] = s.Arm
		out.Jobs = append(out.Jobs, job)
		out.slots = append(out.slots, s)
	}
	return out, out.describe(e, arms)
}

// armPolicy makes an arm's policy the one that its episodes are planned and played with.
func (a *app) armPolicy(arm suite.ExperimentArm) error {
	if a.live.policy = arm.Policy; !isLive(arm.Agent) {
		if arm.Policy != "" {
			return fmt.Errorf("a policy is of an agent that asks a model, and %q asks none", arm.Agent)
		}
		return nil
	}
	p, err := a.live.readPolicy()
	if err != nil {
		return err
	}
	if a.policies == nil {
		a.policies = map[string]agent.Policy{}
	}
	a.policies[p.ID()] = p
	return nil
}

func slotKey(task string, trial int) string { return fmt.Sprintf("%s %d", task, trial) }

// describe fills in the design.
func (p *trialPlan) describe(e *suite.Experiment, arms []map[string]run.Job) error {
	d := &p.design
	d.Title, d.Trials, d.Seed = e.Title, e.Trials, e.Seed
	number := map[string]int{}
	for i, arm := range e.Arms {
		ep := arms[i][slotKey(p.tasks[0].ID, 1)].Episode
		number[arm.Name] = i
		d.Arms = append(d.Arms, experiment.Arm{Name: arm.Name, Agent: ep.Agent, Policy: ep.Policy, Level: ep.Level, World: ep.World, Fault: ep.Fault})
	}
	for _, two := range e.Compare {
		d.Compare = append(d.Compare, [2]int{number[two[0]], number[two[1]]})
	}
	for i := 1; i < len(e.Arms) && len(e.Compare) == 0; i++ {
		d.Compare = append(d.Compare, [2]int{0, i})
	}
	id, err := p.ID()
	d.Run = id
	return err
}

// playExperiment plays a plan on the path of tare run, and says what it showed.
func (a *app) playExperiment(ctx context.Context, r *rig, plan trialPlan, e *suite.Experiment, f experimentFlags) error {
	watch := &experiment.Watch{LostShare: e.Stop.Infrastructure, After: e.Stop.After, Wall: e.Budget.Wall, Dollars: e.Budget.Dollars, Now: r.now}
	arms := map[tare.Digest]int{}
	for i, j := range plan.Jobs {
		arms[j.Episode.Key()] = plan.slots[i].Arm
	}
	for _, arm := range e.Arms {
		watch.Arms = append(watch.Arms, arm.Name)
	}
	watch.Begin()
	r.watch = func(ev run.Event) string {
		if !ev.Result.Played() {
			return ""
		}
		dollars, _ := costOf(ev.Result)
		if ev.Lost {
			return watch.Paid(dollars)
		}
		return watch.Ended(arms[ev.Job.Episode.Key()], lost(ev.Result), dollars)
	}
	id, results, interrupted, err := a.playPlan(ctx, r, plan.Plan, e.Jobs)
	if err != nil {
		return err
	}
	s, err := a.sumUp(plan, id, results, r.stopped)
	if err != nil {
		return err
	}
	if err := errors.Join(a.showExperiment(s, results, f), a.saveResults(id, results)); err != nil {
		return err
	}
	a.noteLost(results)
	a.note("\nrun %s is kept in %s; tare show %s · tare show %s --metrics", id, a.state, id, id)
	switch {
	case interrupted:
		a.note("interrupted: %d of %d episodes are finished and kept; the same command goes on from here", played(results), len(results))
		return exit{exitInterrupted, nil}
	case r.stopped != "":
		a.note("stopped early: %s; %d of %d episodes were played", r.stopped, played(results), len(results))
	}
	if slices.ContainsFunc(s.Arms, func(a experiment.ArmSummary) bool { return a.Open() > 0 }) {
		return exit{exitUnverified, nil}
	}
	return nil
}

func lost(r run.Result) bool {
	return r.Verdict.Outcome == tare.Unverified && r.Verdict.Cause == tare.CauseInfrastructure
}

// costOf is what an episode cost and how many tokens it took: nothing of an agent that asks no model, and of others what they say.
func costOf(r run.Result) (dollars, tokens *float64) {
	name := r.Job.Episode.Agent
	if isScripted(name) || isCheater(name) || r.Job.Solution != nil || r.Job.Task.Scenario != nil && isOperator(name, r.Job.Task) {
		return new(float64), new(float64)
	}
	u := r.Record.Trajectory.Usage
	if u == nil {
		return nil, nil
	}
	if u.InputTokens != nil && u.OutputTokens != nil {
		n := float64(*u.InputTokens + *u.OutputTokens)
		tokens = &n
	}
	return u.Dollars, tokens
}

// sumUp is what the results of a plan show.
func (a *app) sumUp(p trialPlan, id string, results []run.Result, stopped string) (experiment.Summary, error) {
	var out []experiment.Row
	for i, r := range results {
		row := experiment.Row{Arm: p.slots[i].Arm, Task: r.Job.Task.ID, Trial: p.slots[i].Trial, Verdict: r.Verdict}
		again, err := a.files().LostAttempts(id, r.Job.Episode)
		if err != nil {
			return experiment.Summary{}, err
		}
		if row.Again = len(again); lost(r) {
			row.Again-- // the last one is this
		}
		if r.Played() {
			t := r.Record.Trajectory
			if s := t.Finished.Sub(t.Started).Seconds(); !t.Started.IsZero() && s >= 0 {
				row.Seconds = &s
			}
			row.Dollars, row.Tokens = costOf(r)
			m := trajectory.Measure(t, nil)
			row.Faults, row.Spoilt, row.Recovered = m.Faults, m.Spoilt, m.Recovered
		}
		out = append(out, row)
	}
	s, err := experiment.Summarize(p.design, out)
	if err != nil {
		return s, err
	}
	return s.Ended(stopped), nil
}

// showExperiment writes the summary in the forms that were asked for.
func (a *app) showExperiment(s experiment.Summary, results []run.Result, f experimentFlags) error {
	shown := rows(results)
	page := report.Result{Run: s.Run, Rows: shown, ProofLines: a.proofLines(results)}
	for _, file := range []struct {
		path   string
		render func(*os.File) error
	}{
		{f.markdown, func(w *os.File) error { return report.ExperimentMarkdown(w, s, shown) }},
		{f.html, func(w *os.File) error { return report.ExperimentHTML(w, s, page) }},
	} {
		if file.path == "" {
			continue
		}
		if err := writeFile(file.path, file.render); err != nil {
			return err
		}
	}
	if a.json() {
		return a.writeJSON(s)
	}
	return report.Experiment(a.stdout, s, shown, a.options())
}

// A dryPlan is what an experiment would play, and what that would take by what is kept of earlier episodes.
type dryPlan struct {
	Schema   string         `json:"schema"`
	Run      string         `json:"run"`
	Episodes int            `json:"episodes"`
	Finished int            `json:"finished"` // of them, already
	Arms     map[string]int `json:"arms"`     // episodes of each
	Tasks    []string       `json:"tasks"`
	Known    int            `json:"known"`   // episodes of whose like one was played before
	Seconds  *float64       `json:"seconds"` // for what is not finished, with so many jobs; nil: not known of all
	Dollars  *float64       `json:"dollars"`
	Most     float64        `json:"most_seconds"` // were every episode to reach its limit of time, playing alone
}

// dryRun says what would be played.
func (a *app) dryRun(plan trialPlan, e *suite.Experiment) error {
	past, err := a.earlier(plan)
	if err != nil {
		return err
	}
	d := dryPlan{Schema: "tare.experiment-plan/1", Run: plan.design.Run, Episodes: len(plan.Jobs), Arms: map[string]int{}, Tasks: plan.design.Tasks}
	seconds, dollars, priced := 0.0, 0.0, 0
	for i, j := range plan.Jobs {
		d.Arms[e.Arms[plan.slots[i].Arm].Name]++
		if _, _, ok, err := a.files().Finished(d.Run, j.Episode); err == nil && ok {
			d.Finished++
			d.Known++
			priced++
			continue
		}
		d.Most += j.Episode.Limits.Wall.Seconds() / float64(e.Jobs)
		if p, ok := past[alike(j.Episode)]; ok {
			d.Known++
			seconds += p.seconds / float64(p.n)
			if p.priced == p.n {
				priced++
				dollars += p.dollars / float64(p.n)
			}
		}
	}
	if seconds /= float64(e.Jobs); d.Known == d.Episodes {
		d.Seconds = &seconds
	}
	if priced == d.Episodes {
		d.Dollars = &dollars
	}
	if a.json() {
		return a.writeJSON(d)
	}
	return a.showDry(d, plan, e)
}

func (a *app) showDry(d dryPlan, plan trialPlan, e *suite.Experiment) error {
	w := a.stdout
	fmt.Fprintf(w, "run %s: %s × %s × %s = %s, %d of them finished\n", d.Run, many(len(e.Arms), "arm"), many(len(d.Tasks), "task"), many(e.Trials, "trial"), many(d.Episodes, "episode"), d.Finished)
	for i, arm := range plan.design.Arms {
		parts := []string{arm.Agent}
		for _, p := range []struct{ what, is string }{{"policy", arm.Policy}, {"level", arm.Level}, {"world", arm.World}, {"fault", arm.Fault}} {
			if p.is != "" {
				parts = append(parts, p.what+" "+p.is)
			}
		}
		fmt.Fprintf(w, "%s\n", wrapLines(fmt.Sprintf("  arm %s: %s", printable(e.Arms[i].Name), printable(strings.Join(parts, "; "))), widthOf(w)))
	}
	span := func(seconds float64) string {
		return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	}
	if d.Seconds != nil {
		fmt.Fprintf(w, "time: about %s of the agents' with %s, by what is kept of earlier episodes; grading comes on top\n", span(*d.Seconds), many(e.Jobs, "job"))
	} else {
		fmt.Fprintf(w, "time: unknown, since no episode like %d of these is kept; at most %s, were each to reach its limit\n", d.Episodes-d.Known, span(d.Most))
	}
	if d.Dollars != nil {
		fmt.Fprintf(w, "cost: about $%.2f more\n", *d.Dollars)
	} else {
		fmt.Fprintln(w, "cost: unknown")
	}
	fmt.Fprintln(w, "nothing was played")
	return nil
}

// A pastEpisode sums up what is kept of episodes that were alike.
type pastEpisode struct {
	n, priced        int
	seconds, dollars float64
}

// alike names the episodes that an estimate takes for the same: of one task, agent, policy and level.
func alike(ep tare.Episode) string {
	return fmt.Sprintf("%s %s %s %s", ep.Task, ep.Agent, ep.Policy, ep.Level)
}

// mostPast bounds the records that an estimate reads.
const mostPast = 500

// earlier is what is kept of episodes like those of a plan.
func (a *app) earlier(plan trialPlan) (map[string]pastEpisode, error) {
	wanted := map[string]run.Job{}
	for _, j := range plan.Jobs {
		wanted[alike(j.Episode)] = j
	}
	out := map[string]pastEpisode{}
	files := a.files()
	ids, err := files.Runs()
	if err != nil {
		return nil, err
	}
	read := 0
	for _, id := range ids {
		var fact run.PlanFact
		if err := files.Plan(id, &fact); err != nil {
			return nil, err
		}
		for _, ep := range fact.Episodes {
			job, ok := wanted[alike(ep)]
			if !ok || read == mostPast {
				continue
			}
			rec, verdict, ok, err := files.Finished(id, ep)
			if err != nil || !ok {
				continue // an estimate can do without
			}
			read++
			p := out[alike(ep)]
			p.n++
			p.seconds += max(0, rec.Trajectory.Finished.Sub(rec.Trajectory.Started).Seconds())
			if dollars, _ := costOf(run.Result{Job: job, Record: rec, Verdict: verdict}); dollars != nil {
				p.priced++
				p.dollars += *dollars
			}
			out[alike(ep)] = p
		}
	}
	return out, nil
}
