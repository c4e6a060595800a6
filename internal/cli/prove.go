package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"tare"
	"tare/internal/check"
	"tare/internal/evidence"
	"tare/internal/proof"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/suite"
)

func (a *app) prove() *cobra.Command {
	var flags proofFlags
	var lab, bypass bool
	var adapter, out, checked string
	c := &cobra.Command{
		Use:   "prove [TASK|SUITE…]",
		Short: "Play every control twice and show that the grader tells right from wrong",
		Long: `prove plays what a task's right verdicts are known for: the unfixed seed, an agent that does nothing, each reference
with and without its regression test, worthless tests, wrong solutions and unusual right ones, and every adversary
that fits the task (docs/adversaries.md). Each row states the outcome, the gate and the reason that must come out;
anything else, or a row that comes out otherwise the second time, is named and makes the exit code 1. After a whole
proof a certificate is kept, and every later verdict says that it is proven.

Of a scenario it plays the scripted agents, and changes the record of a good one in every way of a library of variants
(docs/scenarios.md): at least nine bad ones must fail, each at its gate and for its reason, at least four acceptable ones
pass. A suite of scenarios is proven when each variant was made of three of them or more.

Without an argument it proves the built-in suites that need nothing from outside; one that does is to be named.

With --agent the built-in canaries are sent through that adapter too, and one file certifies graders and harness. --check holds such a
file against this binary, its suites and, where it is there, the adapter; it plays nothing. Exit codes of --check: 0 all is as it says;
1 something was altered, does not follow or shows a failure; 3 it speaks of something else than what is here; 2 it is none
(docs/canaries.md).`,
		Example: "  tare prove tickets/bugfix_inventory\n  tare prove tickets --jobs 2 --markdown proof.md\n  tare prove tickets --sweep-only\n  tare prove --lab\n  tare prove tickets --agent cmd:my_agent/run_agent.sh\n  tare prove --check certificate.json",
		RunE: func(c *cobra.Command, args []string) error {
			if lab && len(args) > 0 {
				return usage("--lab has tickets of its own: %s", strings.Join(proof.LabTasks(), ", "))
			}
			if lab {
				return a.lab(c.Context())
			}
			if bypass {
				return a.proveBypass(c.Context(), args, flags.rows)
			}
			if checked != "" {
				return a.checkCertificate(c.Context(), checked, args)
			}
			if flags.jobs < 1 || flags.passes < 1 {
				return usage("--jobs and --passes are at least 1")
			}
			tasks, err := a.proven(args)
			if err != nil {
				return err
			}
			if adapter == "" {
				out = ""
			} else if flags.sweepOnly || len(flags.rows) > 0 || flags.passes < 2 {
				return usage("--agent writes a certificate, and a part of the rows, or one pass, makes none")
			} else if _, err := a.harness(adapter); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt)
			defer stop()
			if flags.sweepOnly {
				defer collecting(400, 128<<20)() // a few seconds
			} else {
				defer collecting(50, 60<<20)()
			}
			if !slices.ContainsFunc(tasks, func(t *tare.Task) bool { return t.Kind == tare.Scenario }) { // which are judged in this program
				defer leavingProcessors()()
			}
			a.inMemory = adapter == "" // what the controls of a suite write is known, what an agent will is not
			return a.withRig(ctx, func(ctx context.Context, r *rig) error {
				if err := a.canKeep(flags.markdown, out); err != nil {
					return err
				}
				tables, err := a.proveTasks(ctx, r, tasks, flags)
				if err != nil && ctx.Err() != nil {
					return exit{exitInterrupted, fmt.Errorf("interrupted; %d of %s came to an end", len(tables), many(len(tasks), "proof"))}
				}
				if err != nil {
					return err
				}
				shown := a.showProof(tables, flags.markdown)
				if adapter == "" {
					return shown
				}
				return errors.Join(shown, a.proveHarness(ctx, r, tables, adapter, out, flags.jobs))
			})
		},
	}
	c.Flags().BoolVar(&flags.sweepOnly, "sweep-only", false, "only the four states of each task, once; no certificate")
	c.Flags().StringVar(&adapter, "agent", "", "also send the built-in canaries through this adapter, and write one certificate of both")
	c.Flags().StringVar(&out, "certificate", "certificate.json", "with --agent: where the certificate goes")
	c.Flags().StringVar(&checked, "check", "", "check a certificate against this binary and its suites; the tasks that are not built in are named as arguments")
	c.Flags().BoolVar(&lab, "lab", false, "the experiment: an evaluator that looks for words beside this one; no certificate")
	c.Flags().BoolVar(&bypass, "bypass", false, "of vulnerabilities: the attempts to get round the levels of help, each at its levels; no certificate")
	c.Flags().StringSliceVar(&flags.rows, "row", nil, "only these controls, by name; no certificate")
	c.Flags().BoolVar(&flags.controlsOnly, "controls-only", false, "leave the adversaries out; certifies a part")
	c.Flags().StringVar(&flags.markdown, "markdown", "", "also write the tables as Markdown to this file")
	c.Flags().IntVar(&flags.passes, "passes", 2, "how often everything is played; no certificate below 2")
	// one more than there are processors: some controls do nothing until a time limit ends them
	c.Flags().IntVar(&flags.jobs, "jobs", runtime.NumCPU()+1, "controls played at once")
	return c
}

type proofFlags struct {
	jobs      int
	sweepOnly bool
	rows      []string

	passes       int
	controlsOnly bool
	markdown     string
}

func (a *app) proveTasks(ctx context.Context, r *rig, tasks []*tare.Task, flags proofFlags) ([]proof.Table, error) {
	tasks, err := a.ready(ctx, tasks)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tasks, func(t *tare.Task) bool { return t.Kind == tare.Ticket && t.Runner == "pytest" }) {
		if err := evidence.Ahead(r.sb, check.Pytest{}); err != nil {
			return nil, err
		}
	}
	r.inner = max(2, runtime.NumCPU()/flags.jobs) // half of a run is waiting for the kernel to make and unmake a sandbox
	bar := a.progress()
	defer bar.clear()
	var cheaters []*suite.Adversary
	if !flags.controlsOnly && !flags.sweepOnly {
		if cheaters, err = adversaries(); err != nil {
			return nil, err
		}
	}
	tables := make([]proof.Table, len(tasks))
	said := func(i int, what string) func(done, all int) {
		return func(done, all int) {
			bar.say("task %d of %d, %s %d of %d: %s", i+1, len(tasks), what, done, all, tasks[i].ID)
		}
	}
	one := func(ctx context.Context, i int) (err error) {
		o, err := r.proofOptions(tasks[i], cheaters, flags, said(i, "control"), said(i, "mutant"))
		if err == nil {
			tables[i], err = proof.Prove(ctx, tasks[i], r.passes(), o)
		}
		r.forget(tasks[i])
		if !flags.sweepOnly {
			debug.FreeOSMemory() // what the largest rows of a task took is not held for the next one
		}
		if err == nil && tables[i].Controls && tables[i].Passes > 1 {
			err = a.certify(tables[i], tasks[i])
		}
		return err
	}
	beside := 1
	if flags.sweepOnly {
		beside = 3 // the four states of a task end one by one, and leave processors idle
	}
	n, err := inTurn(ctx, len(tasks), beside, one)
	return tables[:n], err
}

// collecting says when garbage is collected: percent and limit are those of GOGC and GOMEMLIMIT, which are obeyed where they are set. A
// whole proof plays thousands of rows beside compilers and interpreters that need memory more than this program, and most of what it
// holds is garbage. It returns what ends that.
func collecting(every int, most int64) (end func()) {
	percent, limit := -1, int64(-1)
	if os.Getenv("GOGC") == "" {
		percent = debug.SetGCPercent(every)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = debug.SetMemoryLimit(most)
	}
	return func() {
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
		if limit >= 0 {
			debug.SetMemoryLimit(limit)
		}
	}
}

// leavingProcessors keeps this program to a quarter of the processors where GOMAXPROCS does not say otherwise: less than that is its part
// in a proof whose rows are played by processes, and threads that look for something to do take the time of these. It returns what ends
// that.
func leavingProcessors() (end func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(1, before/4))
	return func() { runtime.GOMAXPROCS(before) }
}

// inTurn does the first to the last of n things, a few beside each other, until one fails. It returns how many of the first were done.
func inTurn(ctx context.Context, n, beside int, do func(ctx context.Context, i int) error) (done int, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(beside)
	ended := make([]bool, n)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		g.Go(func() error {
			err := context.Cause(ctx)
			if err == nil {
				err = do(ctx, i)
			}
			ended[i] = err == nil
			return err
		})
	}
	err = g.Wait()
	if i := slices.Index(ended, false); i >= 0 {
		return i, cmp.Or(err, context.Cause(ctx))
	}
	return n, err
}

// proofOptions says how a task is proven. Both functions are told of progress.
func (r *rig) proofOptions(t *tare.Task, cheaters []*suite.Adversary, flags proofFlags, control, mutant func(done, all int)) (proof.Options, error) {
	o := proof.Options{Jobs: flags.jobs, Passes: flags.passes, Adversaries: cheaters, Rejudge: r.rejudge, Progress: control}
	if t.Kind != tare.Ticket {
		o.Adversaries = nil // these change the files of tickets
	}
	if t.Kind == tare.Vuln && !flags.controlsOnly && !flags.sweepOnly {
		o.Mutation, o.MutantProgress = r.mutation(), mutant
	}
	if t.Kind == tare.Scenario && flags.controlsOnly {
		o.Rejudge = nil // which judges the variants
	}
	switch {
	case flags.sweepOnly:
		o.Passes, o.Rejudge = 1, nil
		o.Controls = inSweep(t)
	case len(flags.rows) > 0:
		o.Controls = func(c tare.Control) bool { return slices.Contains(flags.rows, c.Name) }
		return o, haveRows(t, cheaters, flags.rows)
	}
	return o, nil
}

// haveRows checks that a task has all the controls that were asked for: a row that is not there is not a row that holds.
func haveRows(t *tare.Task, cheaters []*suite.Adversary, rows []string) error {
	controls := proof.Controls(t, cheaters)
	for _, name := range rows {
		if !slices.ContainsFunc(controls, func(c tare.Control) bool { return c.Name == name }) {
			return usage("%s has no control %q; see 'tare prove %s'", t.ID, name, t.ID)
		}
	}
	return nil
}

// inSweep picks the controls of the four-state sweep: the seed, the first reference with and without its test, and the vacuous test.
func inSweep(t *tare.Task) func(tare.Control) bool {
	keep := map[string]bool{}
	seen := map[string]bool{}
	for _, c := range t.Controls {
		state := ""
		switch {
		case c.Origin == tare.FromSeed:
			state = "unfixed"
		case c.Origin == tare.FromReference && strings.HasSuffix(c.Name, "+test"):
			state = "genuine"
		case c.Origin == tare.FromReference:
			state = "untested"
		case c.Origin == tare.FromWorthless && strings.Contains(c.Name, "vacuous"):
			state = "vacuous"
		}
		if state != "" && !seen[state] {
			seen[state], keep[c.Name] = true, true
		}
	}
	return func(c tare.Control) bool { return keep[c.Name] }
}

// rejudge judges a record as a run does.
func (r *rig) rejudge(task *tare.Task, rec tare.Record) tare.Verdict {
	return r.judge.Judge(task, rec, "")
}

// passes judges the controls of one task. Those of one pass share what they have in common, and all passes what was built of the
// same tree, unless each command is to start from nothing.
func (r *rig) passes() proof.Judge {
	var mu sync.Mutex
	shared := map[int]beside{}
	builds := evidence.NewVulnBuilds(r.sb)
	return func(ctx context.Context, task *tare.Task, c tare.Control, pass int) (run.Result, error) {
		if r.a.cold {
			return r.judgeControl(ctx, task, c)
		}
		mu.Lock()
		if shared[pass].shared == nil {
			delete(shared, pass-1) // its last rows hold it themselves
			shared[pass] = beside{evidence.NewShared(), evidence.NewVulnCache("").WithBuilds(builds).WithSharedRuns()}
		}
		with := shared[pass]
		mu.Unlock()
		return r.judgeBeside(ctx, task, c, with)
	}
}

// judgeControl plays a control on production's path and judges it; nothing of it is kept.
func (r *rig) judgeControl(ctx context.Context, task *tare.Task, c tare.Control) (run.Result, error) {
	return r.judgeBeside(ctx, task, c, beside{})
}

// judgeBeside is judgeControl where others may have made some of the observations.
func (r *rig) judgeBeside(ctx context.Context, task *tare.Task, c tare.Control, with beside) (run.Result, error) {
	job := run.Job{Task: task, Episode: r.episode(task, controlAgent+c.Name)}
	if c.Agent != "" {
		job.Episode.Agent = controlAgent + c.Agent
	} else {
		job.Solution = c.Solution(task.Seed)
	}
	play := func(ctx context.Context, job run.Job, w io.Writer) (tare.Record, error) {
		return r.playBeside(ctx, job, w, with)
	}
	one := run.Rig{Play: play, Attempts: 2, Grader: r.grader}
	results, err := one.Run(ctx, "", run.Plan{Jobs: []run.Job{job}}, nil)
	if err != nil {
		return run.Result{}, err
	}
	if !results[0].Played() {
		return run.Result{}, context.Cause(ctx)
	}
	return results[0], nil
}

func (a *app) showProof(tables []proof.Table, markdown string) error {
	if markdown != "" {
		err := writeFile(markdown, func(f *os.File) error { return writeProofMarkdown(f, tables) })
		if err != nil {
			return err
		}
	}
	if a.json() {
		if err := proof.WriteJSON(a.stdout, tables); err != nil {
			return err
		}
	} else {
		if err := writeProof(a.stdout, tables, a.options()); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if !t.OK() || notGold(t) != "" {
			return exit{exitFailed, nil}
		}
	}
	return nil
}

// writeProof prints the sweep, then each task's controls, then what deserves a look.
func writeProof(w io.Writer, tables []proof.Table, o report.Options) error {
	var sweep strings.Builder
	if err := writeSweep(&sweep, tables, o); err != nil {
		return err
	}
	fmt.Fprint(w, sweep.String())
	width := o.Columns()
	for i, t := range tables {
		if i > 0 || sweep.Len() > 0 {
			fmt.Fprintln(w)
		}
		head := fmt.Sprintf("%s%s: %s, %s, isolation %s", t.Task, heldOut(t.HeldOut), many(len(t.Rows), "control"), many(t.Passes, "pass"), t.Isolation)
		for _, l := range report.Wrap(head, width) {
			fmt.Fprintln(w, l)
		}
		sick := 0
		var shown []proof.Row
		for _, r := range t.Rows {
			switch {
			case r.OK && r.Origin == tare.FromSick:
				sick++
			case r.OK && r.Origin == tare.FromAdversary && fromMatrix(r.Control): // in the matrix
			case r.OK && r.Origin == tare.FromVariant: // counted below
			default:
				shown = append(shown, r)
			}
		}
		if err := writeRows(w, shown, sick, o); err != nil {
			return err
		}
		writeVariantsOf(w, t, width)
		if err := writeKills(w, t, o); err != nil {
			return err
		}
		writeRefused(w, t, width)
		if n := len(t.Idle); n > 0 {
			stop := "hidden cases stop no control by themselves"
			if n == 1 {
				stop = "hidden case stops no control by itself"
			}
			for i, l := range report.Wrap(fmt.Sprintf("%d %s: %s", n, stop, clip(strings.Join(t.Idle, ", "), 400)), width-9) {
				fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", min(2+7*i, 9)), l)
			}
		}
	}
	writeAdversaries(w, tables, width)
	if err := writeVariants(w, tables, o); err != nil {
		return err
	}
	rows, wrong := 0, 0
	for _, t := range tables {
		for _, r := range t.Rows {
			rows++
			if !r.OK {
				wrong++
			}
		}
	}
	said := fmt.Sprintf("%s, %s, %d not as they must be%s", many(len(tables), "task"), many(rows, "control"), wrong, unsteadyText(tables))
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(report.Wrap(said, width), "\n"))
	return err
}

// many is a number of things.
func many(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	default:
		return fmt.Sprintf("%d %ss", n, what)
	}
}

// writeRows prints controls, one a line, and how many spoilt records came out right; what is wrong with a control stands
// below it, with the whole of its name.
func writeRows(w io.Writer, rows []proof.Row, sick int, o report.Options) error {
	var lines []report.Line
	for _, r := range rows {
		l := report.Line{Cells: []string{"  ok", string(r.Origin), r.Control, string(r.Got.Outcome), rewardText(r.Got.Reward), gateText(r.Got)}}
		if !r.OK {
			l.Cells[0] = "  WRONG"
			l.Below = []string{r.Control + ": " + r.Wrong}
			if r.Got.Reason != "" {
				l.Below = append(l.Below, "the grader said: "+r.Got.Reason)
			}
		}
		lines = append(lines, l)
	}
	if sick > 0 {
		lines = append(lines, report.Line{
			Cells: []string{"  ok", string(tare.FromSick), many(sick, "spoilt record"), "", "", ""},
			Below: []string{"a failed rig is UNVERIFIED, a forged report FAIL"},
		})
	}
	return report.Table(w, []report.Column{{}, {Spare: 1}, {Min: 18}, {Spare: 2}, {Right: true}, {}}, lines, o)
}

// writeSweep prints seed 000's table: what the grader makes of the four states of each task. A task of which only other
// rows were played has no place in it.
func writeSweep(w io.Writer, tables []proof.Table, o report.Options) error {
	cols := []report.Column{{Head: "sweep: reward in four states", Min: 20}}
	for _, head := range []string{"unfixed seed", "fix, no test", "fix, real test", "fix, empty test"} {
		cols = append(cols, report.Column{Head: head, Width: 10, Min: 7, Right: true})
	}
	var lines []report.Line
	for _, t := range tables {
		s := proof.SweepOf(t)
		if t.Kind == tare.Vuln || s.Unfixed == nil || s.Untested == nil && s.Genuine == nil && s.Vacuous == nil {
			continue
		}
		lines = append(lines, report.Line{Cells: []string{t.Task, stateText(s.Unfixed), stateText(s.Untested), stateText(s.Genuine), stateText(s.Vacuous)}})
	}
	if len(lines) == 0 {
		return nil
	}
	return report.Table(w, cols, lines, o)
}

func stateText(r *proof.Row) string {
	switch {
	case r == nil:
		return "-"
	case !r.OK:
		return rewardText(r.Got.Reward) + " WRONG"
	default:
		return rewardText(r.Got.Reward)
	}
}

func gateText(g proof.Got) string {
	if g.Gate == "" {
		return ""
	}
	if g.Requirement != 0 {
		return fmt.Sprintf("%s, requirement %d", g.Gate, g.Requirement)
	}
	return g.Gate
}

func rewardText(r *float64) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *r)
}

func heldOut(yes bool) string {
	if yes {
		return " (held-out)"
	}
	return ""
}
