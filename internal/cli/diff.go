package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/run"
	"tare/internal/store"
)

// A moved verdict is one episode of which two verdicts say different things.
type moved struct {
	Episode  string       `json:"episode"`
	From     tare.Outcome `json:"from"`
	To       tare.Outcome `json:"to"`
	FromGate string       `json:"from_gate,omitempty"`
	ToGate   string       `json:"to_gate,omitempty"`
	Causes   []cause      `json:"causes"`
}

// A cause is why a verdict moved. Several may have had a part in it.
type cause struct {
	Cause string `json:"cause"` // task, agent, world, limits, isolation, seed, review, expectation, grader, conduct, unplayed, nothing
	What  string `json:"what"`
}

func (a *app) diff() *cobra.Command {
	var tasks []string
	c := &cobra.Command{
		Use:   "diff RUN [RUN]",
		Short: "List every verdict that moved between two runs, or within one, and its cause",
		Long: `diff holds the verdicts that count against each other, episode by episode (task, agent, level, fault and trial), and lists those whose
outcome or deciding gate is another, with what differs: the task, the agent's script, the world, limits, isolation, seed, a person's
review, the grader, or what the agent did. Where both records can be judged by the present grader, that tells the grader's doing from the agent's.

With one run, it lists the corrections within it: each verdict that superseded another, and why. With two runs of canaries (of a cheap and a
paid environment, before and after a change of the harness) it names each canary whose verdict moved.

Exit codes: 0 nothing moved; 1 something did.`,
		Example: "  tare diff 3f2a9c1b7d04 91bc02aa7714\n  tare diff 3f2a9c1b7d04",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			var ids []string
			var sides [][]run.Result
			for _, arg := range args {
				id, err := a.findRun(arg)
				if errors.Is(err, store.ErrNotFound) {
					return usage("there is no run %q in %s", arg, a.state)
				}
				if err != nil {
					return err
				}
				results, err := a.resultsWith(id, tasks)
				if err != nil {
					return err
				}
				ids, sides = append(ids, id), append(sides, results)
			}
			switch {
			case len(ids) == 1:
				return a.writeMoves(ids[0], ids[0], corrections(sides[0]), len(sides[0]))
			case areCanaries(sides[0]) && areCanaries(sides[1]):
				return a.diffCanaries(ids[0], ids[1], sides[0], sides[1])
			}
			moves, compared := a.moves(sides[0], sides[1])
			return a.writeMoves(ids[0], ids[1], moves, compared)
		},
	}
	c.Flags().StringSliceVar(&tasks, "task", nil, "tasks of the runs that are not built in: directories")
	return c
}

// corrections lists what superseded what within a run.
func corrections(results []run.Result) []moved {
	var out []moved
	for _, r := range results {
		for i := 1; i < len(r.History); i++ {
			old, now := r.History[i-1], r.History[i]
			m := moved{Episode: shortName(r.Job.Episode), From: old.Outcome, To: now.Outcome, FromGate: old.RootGate, ToGate: now.RootGate}
			if now.Correction == nil {
				m.Causes = []cause{{"grader", "the correction does not say why"}}
			} else {
				for _, what := range now.Correction.Changed {
					m.Causes = append(m.Causes, cause{string(what), said(now.Correction)})
				}
			}
			if counts := tare.Standing(r.History[:i+1]).Outcome; counts != now.Outcome {
				m.Causes = append(m.Causes, cause{"nothing", fmt.Sprintf("it still counts as %s", counts)})
			}
			out = append(out, m)
		}
	}
	return out
}

// said is what whoever made a correction said of it.
func said(c *tare.Correction) string {
	what := c.Why
	if c.By != "" {
		what = strings.TrimSpace(what + " (" + c.By + ")")
	}
	return what
}

// pairKey is what two episodes of different runs have in common when they are to be compared.
func pairKey(ep tare.Episode) string {
	return strings.Join([]string{ep.Task, shortName(ep), ep.Policy, ep.Level, ep.Fault}, "\x00")
}

// moves compares two runs. Episodes that only one of them has are moves too: from or to nothing.
func (a *app) moves(before, after []run.Result) (out []moved, compared int) {
	old := map[string]run.Result{}
	for _, r := range before {
		old[pairKey(r.Job.Episode)] = r
	}
	seen := map[string]bool{}
	for _, y := range after {
		key := pairKey(y.Job.Episode)
		x := old[key]
		seen[key] = true
		compared++
		if m, ok := a.move(x, y); ok {
			out = append(out, m)
		}
	}
	for _, x := range before {
		if !seen[pairKey(x.Job.Episode)] {
			compared++
			if m, ok := a.move(x, run.Result{Job: run.Job{Episode: x.Job.Episode}}); ok {
				out = append(out, m)
			}
		}
	}
	return out, compared
}

// move compares two episodes, and says whether the verdict moved and why.
func (a *app) move(x, y run.Result) (moved, bool) {
	m := moved{Episode: shortName(y.Job.Episode), From: x.Verdict.Outcome, To: y.Verdict.Outcome, FromGate: x.Verdict.RootGate, ToGate: y.Verdict.RootGate}
	if m.From == m.To && m.FromGate == m.ToGate {
		return m, false
	}
	if !x.Played() || !y.Played() {
		m.Causes = []cause{{"unplayed", "only one of the runs has a verdict on it"}}
		return m, true
	}
	m.Causes = circumstances(x.Job.Episode, y.Job.Episode)
	if n, k := reviews(x.Record), reviews(y.Record); n != k {
		m.Causes = append(m.Causes, cause{"review", fmt.Sprintf("%d answers of people are in the record, and were %d", k, n)})
	}
	other := x.Verdict.Grader != y.Verdict.Grader
	alike, known := a.alikeNow(x, y)
	switch {
	case other && known && alike:
		m.Causes = append(m.Causes, cause{"grader", "the present grader says the same of both records"})
	case other:
		m.Causes = append(m.Causes, cause{"grader", fmt.Sprintf("%s judged, and %s before", short(y.Verdict.Grader), short(x.Verdict.Grader))})
	}
	if known && !alike {
		m.Causes = append(m.Causes, cause{"conduct", "the present grader says different things of the two records: what was done is another"})
	}
	if len(m.Causes) == 0 {
		m.Causes = []cause{{"conduct", "nothing else differs than what was done"}}
	}
	return m, true
}

// circumstances lists what of two episodes differs beside what was done in them.
func circumstances(x, y tare.Episode) []cause {
	var out []cause
	differ := func(name string, was, is any) {
		if was != is {
			out = append(out, cause{name, fmt.Sprintf("%v, and was %v", is, was)})
		}
	}
	if x.TaskHash != y.TaskHash {
		out = append(out, cause{"task", fmt.Sprintf("it is another task: %s, and was %s", short(y.TaskHash), short(x.TaskHash))})
	}
	differ("agent", x.Agent, y.Agent)
	differ("world", x.World, y.World)
	differ("limits", x.Limits, y.Limits)
	differ("isolation", x.Isolation, y.Isolation)
	differ("seed", x.Seed, y.Seed)
	return out
}

// alikeNow reports whether the present grader says the same of two records of one task, where it can be asked.
func (a *app) alikeNow(x, y run.Result) (alike, known bool) {
	task := y.Job.Task
	if task == nil || task.Kind == "" || x.Record.TaskHash != task.Hash || y.Record.TaskHash != task.Hash {
		return false, false
	}
	rig := run.Rig{Grader: tare.GraderDigest()}
	v, w := rig.Judge(task, x.Record, x.Verdict.Record), rig.Judge(task, y.Record, y.Verdict.Record)
	return v.Outcome == w.Outcome && v.RootGate == w.RootGate, true
}

func (a *app) writeMoves(from, to string, moves []moved, compared int) error {
	slices.SortStableFunc(moves, func(x, y moved) int { return strings.Compare(x.Episode, y.Episode) })
	if a.json() {
		if err := a.writeJSON(map[string]any{"schema": "tare.run-diff/1", "from": from, "to": to, "compared": compared, "moves": append([]moved{}, moves...)}); err != nil {
			return err
		}
	} else {
		decided := func(gate string) string {
			if gate == "" {
				return ""
			}
			return " (" + gate + ")"
		}
		for _, m := range moves {
			fmt.Fprintf(a.stdout, "%s: %s%s becomes %s%s\n", printable(m.Episode), orNone(m.From), decided(m.FromGate), orNone(m.To), decided(m.ToGate))
			for _, c := range m.Causes {
				fmt.Fprintf(a.stdout, "%s\n", wrapLines("  "+c.Cause+": "+printable(clip(c.What, 300)), widthOf(a.stdout)))
			}
		}
		fmt.Fprintf(a.stdout, "%s moved, of %s\n", many(len(moves), "verdict"), many(compared, "episode"))
	}
	if len(moves) > 0 {
		return exit{exitFailed, nil}
	}
	return nil
}
