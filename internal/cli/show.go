package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/oracle"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/store"
	"tare/internal/trajectory"
)

func (a *app) show() *cobra.Command {
	var metrics, ticket bool
	var explain string
	c := &cobra.Command{
		Use:   "show TASK | RUN | RUN/EPISODE",
		Short: "Show a task, a run, or one episode with its verdict",
		Long: `show prints what is known of a task, a run or an episode. An episode is named by the run and as much of its task, agent and
trial as tells it from others: RUN/bugfix_inventory/advanced/2, or RUN/bug/adv/2 where that is one episode's only.`,
		Example: "  tare show tickets/bugfix_inventory\n  tare show 3f2a9c1b7d04\n  tare show 3f2a9c1b7d04/bugfix_inventory/baseline --explain regression_test\n  tare show 3f2a9c1b7d04 --metrics",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, rest, _ := strings.Cut(args[0], "/")
			run, err := a.findRun(id)
			if errors.Is(err, store.ErrNotFound) {
				tasks, err := a.tasks(args)
				if err != nil {
					return err
				}
				for _, t := range tasks {
					if err := a.showTask(t, ticket); err != nil {
						return err
					}
				}
				return nil
			}
			if err != nil {
				return err
			}
			if rest == "" && explain == "" && !metrics && !a.json() {
				if all, ok, err := a.overview(c.Context(), run); err != nil {
					return err
				} else if ok {
					return report.Matrix(a.stdout, all, a.options())
				}
			}
			read := a.results
			if rest == "" && explain == "" && !metrics {
				read = a.shown
			}
			results, err := read(run)
			if err != nil {
				return err
			}
			if rest != "" {
				if results, err = matching(results, run, rest); err != nil {
					return err
				}
			}
			switch {
			case explain != "":
				return a.explain(results, explain)
			case metrics:
				return a.showMetrics(results)
			case len(results) == 1 && rest != "":
				return a.showEpisode(run, results[0])
			default:
				return a.showRun(run, results, runFlags{})
			}
		},
	}
	c.Flags().BoolVar(&metrics, "metrics", false, "calls, files, failures, retries and times of each episode")
	c.Flags().BoolVar(&ticket, "ticket", true, "print the ticket of a task")
	c.Flags().StringVar(&explain, "explain", "", "show the command, the world and the observation behind this gate")
	return c
}

// findRun completes the beginning of a run's id.
func (a *app) findRun(prefix string) (string, error) {
	runs, err := a.files().Runs()
	if err != nil {
		return "", err
	}
	var hits []string
	for _, r := range runs {
		if prefix != "" && strings.HasPrefix(r, prefix) {
			hits = append(hits, r)
		}
	}
	switch len(hits) {
	case 0:
		return "", fmt.Errorf("run %q: %w", prefix, store.ErrNotFound)
	case 1:
		return hits[0], nil
	default:
		return "", usage("%q is the beginning of %d runs: %s", prefix, len(hits), strings.Join(hits, ", "))
	}
}

// results reads a run: a result per planned episode, without a verdict where the episode is not finished.
func (a *app) results(id string) ([]run.Result, error) { return a.resultsWith(id, nil) }

// resultsWith is results with tasks that are not built in.
func (a *app) resultsWith(id string, named []string) ([]run.Result, error) {
	files := a.files()
	var plan run.PlanFact
	if err := files.Plan(id, &plan); err != nil {
		return nil, err
	}
	known, err := a.tasksAnd(named)
	if err != nil {
		return nil, err
	}
	canaries, err := a.knownCanaries(id)
	if err != nil {
		return nil, err
	}
	known = append(known, canaries...)
	byHash := map[tare.Digest]*tare.Task{}
	for _, t := range known {
		byHash[t.Hash] = t
	}
	var out []run.Result
	for _, ep := range plan.Episodes {
		task := byHash[ep.TaskHash]
		if task == nil { // changed or gone since; the record still shows
			task = &tare.Task{ID: ep.Task, Title: ep.Task, Hash: ep.TaskHash}
		}
		r := run.Result{Job: run.Job{Task: task, Episode: ep}}
		kept, err := files.Find(id, ep)
		switch {
		case err == nil:
			r.Record, r.Verdict, r.History = kept.Record, kept.Verdict(), kept.Verdicts
			r.Verdict = a.withProof(r)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// withProof is the verdict of r with the standing of its proofs as of now: grader and harness may have been proven, or gone stale,
// since.
func (a *app) withProof(r run.Result) tare.Verdict {
	task, v := r.Job.Task, r.Verdict
	v.Proof = a.proofOf(task)
	if v.Grader != tare.GraderDigest() && v.Proof.Status == tare.Proven {
		v.Proof.Status = tare.Stale // the certificate speaks of another grader than the one that judged
	}
	if task.Kind != tare.Canary {
		v.Proof.Harness, v.Proof.Ceiling = a.harnessProof(r.Job.Episode)
	}
	return v
}

// matching picks the episodes that name means: those whose task, agent and trial begin with its parts, whole or, where no
// whole one fits, shortened. What could mean several things is bad usage, with a list of them.
func matching(results []run.Result, id, name string) ([]run.Result, error) {
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	for _, fits := range []func(s, part string) bool{func(s, part string) bool { return s == part }, strings.HasPrefix} {
		for _, form := range []func(tare.Episode) string{shortName, longName} {
			hits, meant := fitting(results, parts, form, fits)
			switch {
			case len(meant) == 1:
				return hits, nil
			case len(meant) > 1:
				return nil, usage("%q could be %d things of run %s:%s", name, len(meant), id, listed(id, meant))
			}
		}
	}
	var all []string
	for _, r := range results {
		all = append(all, shortName(r.Job.Episode))
	}
	return nil, usage("run %s has no episode %q; it has%s", id, name, listed(id, all))
}

// fitting picks the episodes whose names, as form gives them, fit part by part, and lists the different things that were named.
func fitting(results []run.Result, parts []string, form func(tare.Episode) string, fits func(s, part string) bool) (hits []run.Result, meant []string) {
	for _, r := range results {
		of := strings.Split(form(r.Job.Episode), "/")
		if len(parts) > len(of) {
			continue
		}
		ok := true
		for i, part := range parts {
			ok = ok && fits(of[i], part)
		}
		if !ok {
			continue
		}
		hits = append(hits, r)
		if m := strings.Join(of[:len(parts)], "/"); !slices.Contains(meant, m) {
			meant = append(meant, m)
		}
	}
	return hits, meant
}

// shortName names an episode without its suite, and a command without its script's hash.
func shortName(ep tare.Episode) string {
	_, task, _ := strings.Cut(ep.Task, "/")
	who := ep.Agent
	if i := strings.LastIndex(who, scriptMark); i > 0 && strings.HasPrefix(who, "cmd:") {
		who = who[:i]
	}
	return fmt.Sprintf("%s/%s/%d", task, who, ep.Trial)
}

// longName names an episode in full.
func longName(ep tare.Episode) string { return fmt.Sprintf("%s/%s/%d", ep.Task, ep.Agent, ep.Trial) }

// listed is names of a run's parts, one a line, as they could be typed.
func listed(id string, names []string) string {
	const most = 20
	var b strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&b, "\n  and %d more", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s/%s", id, n)
	}
	return b.String()
}

func (a *app) showTask(t *tare.Task, ticket bool) error {
	if a.json() {
		return a.writeJSON(map[string]any{
			"schema": "tare.task-summary/1", "id": t.ID, "kind": t.Kind, "title": t.Title, "category": t.Category, "runner": t.Runner, "hash": t.Hash,
			"requirements": t.Requirements, "visible": t.Visible, "sources": t.Sources, "cases": t.Questions(), "controls": len(t.Controls), "proof": a.proofOf(t),
		})
	}
	switch t.Kind {
	case tare.Scenario:
		return a.showScenario(t, ticket)
	case tare.Vuln:
		return a.showVuln(t, ticket)
	}
	w := a.stdout
	fmt.Fprintf(w, "%s  %s\n%s, %s, runner %s, %s\nproof: %s\n", t.ID, printable(t.Title), t.Kind, t.Category, t.Runner, t.Hash, a.proofOf(t).Status)
	perRequirement := map[int]int{}
	for _, c := range t.Cases {
		perRequirement[c.Requirement]++
	}
	fmt.Fprintln(w, "\nrequirements (hidden cases of each):")
	for _, q := range t.Requirements {
		number := fmt.Sprintf("  %d. ", q.ID)
		for _, l := range report.Wrap(fmt.Sprintf("%s (%d)", q.Text, perRequirement[q.ID]), widthOf(w)-len(number)) {
			fmt.Fprintf(w, "%s%s\n", number, l)
			number = strings.Repeat(" ", len(number))
		}
	}
	fmt.Fprintln(w, "\nworkspace:")
	for _, f := range t.Seed {
		fmt.Fprintf(w, "  %s\n", printable(f.Path))
	}
	fmt.Fprintf(w, "\n%s, %s, %s\n", many(len(t.Controls), "control"), many(len(t.References), "reference"), many(len(t.Twins), "twin"))
	if ticket {
		fmt.Fprintf(w, "\n%s\n", printable(strings.TrimSpace(t.Ticket)))
	}
	return nil
}

func (a *app) showEpisode(run string, r run.Result) error {
	if a.json() {
		return a.writeJSON(map[string]any{"schema": "tare.episode/1", "run": run, "record": r.Record, "verdict": r.Verdict, "history": r.History})
	}
	if !r.Played() {
		fmt.Fprintf(a.stdout, "%s by %s is planned and not finished\n", r.Job.Episode.Task, printable(r.Job.Episode.Agent))
		lost, err := a.files().LostAttempts(run, r.Job.Episode)
		for _, rec := range lost {
			fmt.Fprintf(a.stdout, "an attempt was lost: %s %s\n", rec.Trajectory.Stop, printable(rec.Trajectory.Detail))
			for _, p := range rec.Evidence.Problems {
				fmt.Fprintf(a.stdout, "  %s: %s\n", printable(p.Where), printable(p.Error))
			}
		}
		return err
	}
	if err := a.writeVerdict(r); err != nil {
		return err
	}
	if len(r.Record.Trajectory.Steps) == 0 {
		fmt.Fprintln(a.stdout, "\nno calls")
	} else {
		fmt.Fprintln(a.stdout, "\ncalls:")
	}
	for _, s := range r.Record.Trajectory.Steps {
		mark := "ok  "
		if !s.Observation.OK {
			mark = "fail"
		}
		args := string(s.Call.Args)
		if s.Observation.Fault != "" {
			args = fmt.Sprintf("(fault: %s) %s", printable(s.Observation.Fault), args)
		}
		args = clip(args, widthOf(a.stdout)-38)
		fmt.Fprintf(a.stdout, "  %3d  %7s  %s  %-12s %s\n", s.Call.Index, took(time.Duration(s.Observation.Seconds*float64(time.Second))), mark, clip(s.Call.Tool, 12), args)
	}
	if final := r.Record.Trajectory.Final; final != "" {
		fmt.Fprintf(a.stdout, "\n%s\n", wrapLines("last message: "+clip(final, 400), widthOf(a.stdout)))
	}
	return nil
}

func (a *app) showMetrics(results []run.Result) error {
	rows := make([]trajectory.Metrics, 0, len(results))
	var kept []run.Result
	for _, r := range results {
		if r.Played() {
			rows = append(rows, trajectory.Measure(r.Record.Trajectory, r.Job.Task.Decoys))
			kept = append(kept, r)
		}
	}
	if a.json() {
		for i, m := range rows {
			if err := a.writeJSON(map[string]any{"schema": "tare.metrics/1", "episode": kept[i].Job.Episode, "reward": kept[i].Verdict.Reward, "proof": kept[i].Verdict.Proof, "metrics": m}); err != nil {
				return err
			}
		}
		return nil
	}
	return a.writeMetrics(kept)
}

func (a *app) explain(results []run.Result, gate string) error {
	for _, r := range results {
		if !r.Played() {
			continue
		}
		if _, ok := r.Verdict.Gate(gate); !ok {
			names := make([]string, len(r.Verdict.Gates))
			for i, g := range r.Verdict.Gates {
				names[i] = g.Name
			}
			return usage("the verdict has no gate %q; it has %s", gate, strings.Join(names, ", "))
		}
		if a.json() {
			g, _ := r.Verdict.Gate(gate)
			if err := a.writeJSON(map[string]any{"schema": "tare.explanation/1", "episode": r.Job.Episode, "gate": g, "runs": citedRuns(r.Record, g), "steps": citedSteps(r.Record, g)}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.stdout, "%s by %s, trial %d\n%s\n", r.Job.Episode.Task, printable(r.Job.Episode.Agent), r.Job.Episode.Trial, printable(oracle.Explain(r.Job.Task, r.Record, r.Verdict, gate)))
	}
	return nil
}

// citedRuns are the runs that a gate cites, citedSteps its calls.
func citedRuns(rec tare.Record, g tare.Gate) []tare.Run {
	var out []tare.Run
	for _, e := range rec.Evidence.Runs {
		if slices.Contains(g.Evidence, e.ID) {
			out = append(out, e)
		}
	}
	return out
}

func citedSteps(rec tare.Record, g tare.Gate) []tare.Step {
	var out []tare.Step
	for _, s := range rec.Trajectory.Steps {
		if slices.Contains(g.Evidence, fmt.Sprintf("step:%d", s.Call.Index)) {
			out = append(out, s)
		}
	}
	return out
}
