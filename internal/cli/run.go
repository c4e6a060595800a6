package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/mcpserve"
	"tare/internal/preset"
	"tare/internal/run"
)

type runFlags struct {
	agents  []string
	trials  int
	jobs    int
	seed    int64
	wall    time.Duration
	turns   int
	keep    bool
	heldOut bool
	junit   string
	html    string
	level   string
	proven  bool
	faults  []string
	resume  string
	limits  map[string]int
}

func (a *app) run() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run TASK|SUITE… --agent A[,B…]",
		Short: "Play agents on tasks and grade what they did",
		Long: `run plays each agent on each task in a fresh workspace, over MCP, and grades the workspace that it leaves. The same
command again resumes: what is finished is not played again.

Agents:
  noop                does nothing
  reference           writes a reference fix and its regression test
  baseline            fixes, and stops at green tests
  advanced            walks the requirements, adds a regression test, looks for new files
  recovery            guesses a path, fails, lists, retries
  tree:DIR            puts a finished workspace in place
  cheater:NAME        tries to win without the work; 'tare list adversaries' names them
  straight, careful…  what a scenario's own agents.yaml calls them
  anthropic:MODEL     a model behind the Anthropic Messages API, with the tools of the world (docs/agents.md)
  openai:MODEL        one behind OpenAI's Responses API; openai-chat:MODEL by Chat Completions
  claude-code, codex… a coding agent of others' making: ` + strings.Join(preset.Names(), ", ") + `;
                      NAME:direct works in the workspace with its own tools, NAME:MODEL asks another model (docs/agents.md)
  preset:FILE.yaml    one that a file of yours describes
  cmd:DIR/SCRIPT      an executable of yours, in a folder of its own; it gets the prompt and the workspace (docs/agents.md)

Interrupt once to finish what is running and stop, twice to stop now; the same command goes on from there.`,
		Example: "  tare run tickets --agent baseline,advanced --trials 2 --jobs 2\n  tare run tickets/bugfix_inventory --agent cmd:my_agent/run_agent.sh --keep",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) > 0) == (f.resume != "") {
				return usage("run takes tasks, or --resume RUN")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			a.limits = f.limits
			if f.resume != "" {
				return a.resumeRun(c.Context(), f)
			}
			tasks, err := a.tasks(args)
			if err != nil {
				return err
			}
			if f.heldOut && a.live.tunes() && !c.Flags().Changed("held-out") {
				if rest := withoutHeldOut(tasks); len(rest) > 0 && len(rest) < len(tasks) {
					a.note("left out: %s, since a policy of your own is run; --held-out plays them too", many(len(tasks)-len(rest), "held-out task"))
					tasks = rest
				}
			}
			if err := a.carry(args); err != nil {
				return err
			}
			return a.runTasks(c.Context(), tasks, f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&f.agents, "agent", nil, "agents to play, separated by commas")
	fs.IntVar(&f.trials, "trials", 1, "episodes of each agent on each task")
	fs.IntVar(&f.jobs, "jobs", runtime.NumCPU(), "episodes played at once")
	fs.Int64Var(&f.seed, "seed", 0, "seed of the run; another one is another run")
	fs.DurationVar(&f.wall, "wall", 0, "time limit of an episode; default: the task's")
	fs.IntVar(&f.turns, "turns", 0, "tool calls of an episode; default: the task's")
	fs.BoolVar(&f.proven, "require-proven", false, "play nothing unless every grader is proven and every command has passed its canaries (exit 3)")
	fs.BoolVar(&f.keep, "keep", false, "leave the workspaces and say where they are")
	fs.StringVar(&f.level, "level", "", "of vulnerabilities: how much the agent may check while it works, from 0 (everything) to 4 (nothing); default: SSE_DIFFICULTY, else 2")
	fs.BoolVar(&f.heldOut, "held-out", true, "play held-out tasks too")
	fs.StringVar(&f.junit, "junit", "", "also write the results as JUnit XML to this file")
	fs.StringArrayVar(&f.faults, "fault", nil, "a fault between agent and world, such as tool=run_tests,nth=2,kind=error (docs/experiments.md); may be given again")
	a.live.add(fs)
	a.presets.add(fs)
	fs.StringVar(&f.resume, "resume", "", "go on with this run: play what of its plan is not finished, and nothing else")
	fs.IntVar(&a.priority, "priority", 0, "lower goes first, of runs that share workers")
	fs.StringToIntVar(&f.limits, "limit", nil, "how many episodes of an agent or a provider are played at once, by all workers: NAME=N,…; 0 takes the limit away")
	a.bugFlag(c)
	a.serverFlag(c)
	fs.StringVar(&f.html, "html", "", "also write the results as one HTML page to this file")
	return c
}

// plan makes the jobs of a run. Fixtures test the grader and are no work for agents: named alone they are refused,
// in a suite they are left out.
func (a *app) plan(r *rig, tasks []*tare.Task, f runFlags) (run.Plan, error) {
	var plan run.Plan
	if len(f.agents) == 0 {
		return plan, usage("run takes --agent; try --agent baseline,advanced")
	}
	if f.trials < 1 || f.jobs < 1 {
		return plan, usage("--trials and --jobs are at least 1")
	}
	tasks, err := forAgents(tasks, f.heldOut)
	if err != nil {
		return plan, err
	}
	level, err := f.helpLevel(tasks)
	if err != nil {
		return plan, err
	}
	faults, err := faultText(f.faults)
	if err != nil {
		return plan, err
	}
	seen := map[tare.Digest]bool{}
	for _, t := range tasks {
		for _, name := range f.agents {
			for trial := 1; trial <= f.trials; trial++ {
				job := run.Job{Task: t, Episode: r.episode(t, name)}
				job.Episode.Trial, job.Episode.Seed, job.Episode.Fault = trial, f.seed, faults
				if t.Kind == tare.Vuln {
					job.Episode.Level = level
				}
				if f.wall > 0 {
					job.Episode.Limits.Wall = f.wall
				}
				if f.turns > 0 {
					job.Episode.Limits.Turns = f.turns
				}
				if err := fitAgent(name, t); err != nil && len(tasks) > 1 {
					a.note("left out: %v", err)
					continue
				} else if err != nil {
					return plan, err
				}
				if dir, ok := strings.CutPrefix(name, "tree:"); ok {
					if job.Solution, err = readWhole(dir); err != nil {
						return plan, usage("reading agent %s: %w", name, err)
					}
					job.Episode.Agent = "tree:" + short(job.Solution.Digest())
				} else if isLive(name) {
					if err := a.live.check(name); err != nil {
						return plan, err
					}
					if job.Episode, err = a.live.episode(job.Episode, name); err != nil {
						return plan, err
					}
				} else if isPreset(name) {
					if job.Episode, err = a.presetEpisode(job.Episode, name); err != nil {
						return plan, err
					}
				} else if err := a.checkAgent(name); err != nil && (t.Kind != tare.Scenario || !isOperator(name, t)) {
					return plan, err
				} else if script, ok := strings.CutPrefix(name, "cmd:"); ok {
					b, err := os.ReadFile(script)
					if err != nil {
						return plan, usage("agent %s: %w", name, err)
					}
					job.Episode.Agent = name + scriptMark + short(tare.HashBytes(b))
				} else if isCheater(name) {
					if err := fitCheater(name, t); err != nil && len(tasks) > 1 {
						a.note("left out: %v", err)
						continue
					} else if err != nil {
						return plan, err
					}
				}
				if key := job.Episode.Key(); !seen[key] {
					seen[key] = true
					plan.Jobs = append(plan.Jobs, job)
				}
			}
		}
	}
	return plan, nil
}

// faultText is the faults that --fault names, as episodes have them.
func faultText(texts []string) (string, error) {
	var list []mcpserve.Fault
	for _, text := range texts {
		one, err := mcpserve.ParseFault(text)
		if err != nil {
			return "", usage("%w", err)
		}
		list = append(list, one)
	}
	return mcpserve.FormatFaults(list), nil
}

func withoutHeldOut(tasks []*tare.Task) []*tare.Task {
	return slices.DeleteFunc(slices.Clone(tasks), func(t *tare.Task) bool { return t.Category == tare.HeldOut })
}

func forAgents(tasks []*tare.Task, withHeldOut bool) ([]*tare.Task, error) {
	var out []*tare.Task
	for _, t := range tasks {
		switch {
		case t.Category == tare.Fixture:
		case t.Category == tare.HeldOut && !withHeldOut:
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 && len(tasks) > 0 {
		return nil, usage("%s is a fixture that tests the grader (or held out); no agent may be played on it", tasks[0].ID)
	}
	return out, nil
}

func (a *app) runTasks(ctx context.Context, tasks []*tare.Task, f runFlags) error {
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		tasks, err := a.ready(ctx, tasks)
		if err != nil {
			return err
		}
		r.keep = f.keep
		plan, err := a.plan(r, tasks, f)
		if err != nil {
			return err
		}
		return a.runPlan(ctx, r, plan, f)
	})
}

// runPlan plays a plan and shows what came of it.
func (a *app) runPlan(ctx context.Context, r *rig, plan run.Plan, f runFlags) error {
	if f.proven {
		if err := a.requireProven(plan); err != nil {
			return err
		}
	}
	if err := a.canKeep(f.junit, f.html); err != nil {
		return err
	}
	play := a.playPlan
	if d, ok := a.database(); ok {
		play = a.queuePlan
		if d.Postgres() {
			if err := a.alone(f); err != nil {
				return err
			}
		}
	}
	id, results, interrupted, err := play(ctx, r, plan, f.jobs)
	if err != nil {
		return err
	}
	if err := a.judgeAnew(id, results); err != nil {
		return err
	}
	for i, r := range results {
		if r.Played() {
			results[i].Verdict = a.withProof(r) // of one that was finished before, proofs may have changed
		}
	}
	if err := errors.Join(a.showRun(id, results, f), a.saveResults(id, results)); err != nil {
		return err
	}
	a.noteLost(results)
	a.note("\nrun %s is kept in %s; tare show %s · tare report %s", id, a.place(), id, id)
	if interrupted {
		a.note("interrupted: %d of %d episodes are finished and kept; the same command goes on from here, and so does tare run --resume %s", played(results), len(results), id)
		return exit{exitInterrupted, nil}
	}
	if n := len(results) - played(results); n > 0 {
		a.note("incomplete: %d of %d episodes are missing; tare run --resume %s plays them", n, len(results), id)
		return exit{exitUnverified, nil}
	}
	return outcomeExit(results)
}

// interrupts turns interrupts into an end: the first closes stop, and so does halt; the second ends the context.
func (a *app) interrupts(ctx context.Context) (out context.Context, stop <-chan struct{}, halt, done func()) {
	out, giveUp := context.WithCancel(ctx)
	stopping := make(chan struct{})
	halt = sync.OnceFunc(func() { close(stopping) })
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	finished := make(chan struct{})
	var interrupted atomic.Bool
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n == 0 {
					interrupted.Store(true)
					a.note("\ninterrupted: finishing what is running; once more to stop now")
					halt()
				} else {
					giveUp()
				}
			case <-finished:
				return
			}
		}
	}()
	return out, stopping, halt, func() {
		if !interrupted.Load() { // the program is about to end: one more must not kill it while it clears up and says what it kept
			signal.Stop(signals)
		}
		close(finished)
		giveUp()
	}
}

// playPlan plays a plan with progress and interrupts: the first stops new episodes, the second gives up running ones.
func (a *app) playPlan(ctx context.Context, r *rig, plan run.Plan, jobs int) (id string, results []run.Result, interrupted bool, err error) {
	if id, err = plan.ID(); err != nil {
		return "", nil, false, err
	}
	r.inner = max(1, runtime.NumCPU()/jobs)
	ctx, stop, halt, done := a.interrupts(ctx)
	defer done()
	bar := a.progress()
	rg := run.Rig{Play: r.play, Recorder: a.files(), Jobs: jobs, Attempts: mostAttempts, Grader: r.grader, Proof: a.proofOf, Harness: a.harnessProof, Progress: r.watched(a.runProgress(bar, len(plan.Jobs)), halt)}
	results, err = rg.Run(ctx, id, plan, stop)
	bar.clear()
	return id, results, closed(stop) && r.stopped == "", err
}

// queuePlan is playPlan through the queue of a database.
func (a *app) queuePlan(ctx context.Context, r *rig, plan run.Plan, jobs int) (id string, results []run.Result, interrupted bool, err error) {
	r.inner = max(1, runtime.NumCPU()/jobs)
	ctx, stop, _, done := a.interrupts(ctx)
	defer done()
	bar := a.progress()
	id, results, err = a.playQueued(ctx, r, plan, jobs, stop, func(n int) { bar.say("%d of %d episodes", n, len(plan.Jobs)) })
	bar.clear()
	return id, results, closed(stop), err
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watched is progress that halts the run when the rig's watch says so.
func (r *rig) watched(progress func(run.Event), halt func()) func(run.Event) {
	if r.watch == nil {
		return progress
	}
	return func(e run.Event) {
		progress(e)
		if !e.Done && !e.Lost || r.stopped != "" {
			return
		}
		if r.stopped = r.watch(e); r.stopped != "" {
			halt()
		}
	}
}

func (a *app) runProgress(bar *bar, all int) func(run.Event) {
	done := 0
	return func(e run.Event) {
		if e.Done {
			done++
		}
		bar.say("%d of %d episodes: %s by %s", done, all, e.Job.Episode.Task, e.Job.Episode.Agent)
	}
}

// showRun prints a run's matrix, or its verdicts as JSON Lines, and writes the files that were asked for.
func (a *app) showRun(id string, results []run.Result, f runFlags) error {
	if f.junit != "" {
		if err := writeFile(f.junit, a.junit(id, results)); err != nil {
			return err
		}
	}
	if f.html != "" {
		if err := writeFile(f.html, a.html(id, results)); err != nil {
			return err
		}
	}
	if areCanaries(results) && !a.json() {
		return a.showCanaries(id, results, 0)
	}
	if a.json() {
		for _, r := range results {
			if !r.Played() {
				continue
			}
			if err := a.writeJSON(verdictLine(id, r)); err != nil {
				return err
			}
		}
		return nil
	}
	return a.writeMatrix(results)
}

// noteLost says why episodes were lost: their verdicts are no grades, and the same command plays them again.
func (a *app) noteLost(results []run.Result) {
	for _, r := range results {
		if g, ok := r.Verdict.Gate(tare.GateInfrastructure); ok && r.Verdict.Cause == tare.CauseInfrastructure {
			a.note("lost: %s by %s: %s", r.Job.Episode.Task, printable(r.Job.Episode.Agent), clip(strings.ReplaceAll(g.Reason, "\n", " "), 600))
		}
	}
}

// A line is a verdict among others: the verdict's JSON with what tells it from its neighbours.
type line struct {
	tare.Verdict
	Run     string       `json:"run,omitempty"` // absent of a record that was handed in
	Episode tare.Episode `json:"episode"`
}

func verdictLine(id string, r run.Result) line {
	return line{Verdict: r.Verdict, Run: id, Episode: r.Job.Episode}
}

func played(results []run.Result) int {
	n := 0
	for _, r := range results {
		if r.Played() {
			n++
		}
	}
	return n
}

func allPlayed(results []run.Result) bool { return played(results) == len(results) }

// checkAgent refuses a name that no agent answers to, before anything is run.
func (a *app) checkAgent(name string) error {
	if script, ok := strings.CutPrefix(name, "cmd:"); ok {
		path, err := filepath.Abs(script)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return usage("agent %s: %w", name, err)
		}
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return usage("agent %s: %s is not an executable file (chmod +x makes a script one)", name, path)
		}
		return nil
	}
	if isLive(name) {
		return a.live.check(name)
	}
	if isPreset(name) {
		_, err := a.presetOf(name)
		return err
	}
	if isCheater(name) {
		return checkCheater(name)
	}
	if !isScripted(name) {
		return usage("there is no agent %q; there are noop, reference, baseline, advanced, recovery, tree:DIR, cmd:SCRIPT, cheater:NAME, %s, preset:FILE.yaml, anthropic:MODEL, openai:MODEL and openai-chat:MODEL", name, strings.Join(preset.Names(), ", "))
	}
	return nil
}

func writeFile(path string, render func(f *os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return usage("writing %s: %w", path, err)
	}
	if err := errors.Join(render(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
