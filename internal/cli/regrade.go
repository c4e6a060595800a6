package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/run"
	"tare/internal/store"
)

type regradeFlags struct {
	tasks []string
	anew  bool
	why   string
	by    string
}

func (a *app) regrade() *cobra.Command {
	var f regradeFlags
	c := &cobra.Command{
		Use:   "regrade RUN",
		Short: "Judge a run's records again; adds verdicts, replaces none",
		Long: `regrade asks the present grader about what was recorded. Where the answer is the same, nothing is added; where it is
another, a verdict is added that names the one it supersedes, by its hash, with what changed since and why. No agent is played and no
check is run.

A failure that is judged a success afterwards still counts as a failure, and reports show both: for a fresh success the task is played
again. A task that was repaired is another task. Of a scenario whose brief is the same, --expectations judges the old record by what
the task says now.`,
		Example: "  tare regrade 3f2a9c1b7d04 --why 'negations were read as claims'\n  tare regrade 3f2a9c1b7d04 --task ./scale_to_three --expectations --why 'the goal named another app'",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.regradeRun(args[0], f) },
	}
	c.Flags().StringVar(&f.why, "why", "", "why the records are judged again")
	c.Flags().StringVar(&f.by, "by", "", "who has them judged again")
	c.Flags().StringSliceVar(&f.tasks, "task", nil, "tasks of the run that are not built in: directories")
	c.Flags().BoolVar(&f.anew, "expectations", false, "judge scenarios whose expectations have changed by what they are now; takes --why")
	return c
}

func (a *app) regradeRun(prefix string, f regradeFlags) error {
	if f.anew && f.why == "" {
		return usage("--expectations takes --why: a record is held against something else than what it was made for")
	}
	id, err := a.findRun(prefix)
	if errors.Is(err, store.ErrNotFound) {
		return usage("there is no run %q in %s", prefix, a.state)
	}
	if err != nil {
		return err
	}
	results, err := a.resultsWith(id, f.tasks)
	if err != nil {
		return err
	}
	moved := 0
	for i, r := range results {
		if !r.Played() {
			continue
		}
		judged, err := a.judgedBy(r, id, f)
		if err != nil {
			return err
		}
		old, again, err := a.rejudgeKept(id, r.Job.Episode, judged, f)
		if err != nil {
			return err
		}
		if again == nil {
			continue
		}
		moved++
		kept, err := a.files().Find(id, r.Job.Episode)
		if err != nil {
			return err
		}
		results[i].Record, results[i].Verdict, results[i].History = kept.Record, kept.Verdict(), kept.Verdicts
		if !a.json() {
			fmt.Fprintf(a.stdout, "%s by %s: %s becomes %s%s\n", r.Job.Episode.Task, printable(r.Job.Episode.Agent), old.Outcome, again.Outcome, stillCounts(kept))
		}
	}
	if a.json() {
		if err := a.showRun(id, results, runFlags{}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%d of %d verdicts changed\n", moved, played(results))
	}
	if err := a.saveResults(id, results); err != nil {
		return err
	}
	return outcomeExit(results)
}

// stillCounts says so where the verdict that counts is not the latest.
func stillCounts(kept store.Result) string {
	if counts := kept.Verdict().Outcome; counts != kept.Latest().Outcome {
		return fmt.Sprintf(", and still counts as %s", counts)
	}
	return ""
}

// judgedBy is the task by which a kept record is judged: its own, or with --expectations another state of the same scenario.
func (a *app) judgedBy(r run.Result, id string, f regradeFlags) (*tare.Task, error) {
	task, ep := r.Job.Task, r.Job.Episode
	if task.Kind != "" {
		return task, nil
	}
	gone := usage("task %s has changed since run %s, or is gone; its records cannot be judged: a repaired task is another task, and is played anew", ep.Task, id)
	if !f.anew {
		return nil, gone
	}
	known, err := a.tasksAnd(f.tasks)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(known, func(t *tare.Task) bool { return t.ID == ep.Task && t.Kind == tare.Scenario })
	if at < 0 {
		return nil, gone
	}
	if ev := r.Record.Evidence.Scenario; ev == nil || ev.Brief == "" || ev.Brief != known[at].Ticket {
		return nil, usage("the brief of %s is another than in run %s: what the agent was asked is not what the task asks now, and it is played anew", ep.Task, id)
	}
	return known[at], nil
}

// rejudgeKept judges a kept record again. Where the answer is another one than the latest verdict, old, it is kept and
// returned.
func (a *app) rejudgeKept(id string, ep tare.Episode, task *tare.Task, f regradeFlags) (old tare.Verdict, again *tare.Verdict, err error) {
	for {
		kept, err := a.files().Find(id, ep)
		if err != nil {
			return old, nil, err
		}
		old = kept.Latest()
		record, hash, further := kept.Record, old.Record, (*tare.Entry)(nil)
		if record.TaskHash != task.Hash {
			if further, err = furtherRecord(&record, hash, func(r *tare.Record) { r.TaskHash, r.Trajectory.Episode.TaskHash = task.Hash, task.Hash }); err != nil {
				return old, nil, err
			}
			hash = further.Hash
		}
		now := a.judgeAgain(task, record, hash, kept, &tare.Correction{Why: f.why, By: f.by})
		if further == nil && sameAnswer(old, now) {
			return old, nil, nil
		}
		err = a.amend(id, ep, further, now)
		if errors.Is(err, store.ErrNotCurrent) {
			continue // another program has regraded it meanwhile
		}
		return old, &now, err
	}
}

// furtherRecord makes record another one, joined to the one that it was by that one's hash.
func furtherRecord(record *tare.Record, was tare.Digest, change func(*tare.Record)) (*tare.Entry, error) {
	change(record)
	record.Supersedes = was
	e, err := tare.NewEntry(*record)
	return &e, err
}

// judgeAgain is a further verdict on an episode, by the present grader, that says what has changed since the latest one.
func (a *app) judgeAgain(task *tare.Task, record tare.Record, hash tare.Digest, kept store.Result, c *tare.Correction) tare.Verdict {
	rig := run.Rig{Grader: tare.GraderDigest(), Proof: a.proofOf, Harness: a.harnessProof}
	v, old := rig.Judge(task, record, hash), kept.Latest()
	v.Supersedes, v.Correction = kept.Current, c
	if old.Grader != v.Grader {
		c.Changed = append(c.Changed, tare.ChangedGrader)
	}
	if old.TaskHash != v.TaskHash {
		c.Changed = append(c.Changed, tare.ChangedExpectation)
	}
	if reviews(record) > reviews(kept.Record) {
		c.Changed = append(c.Changed, tare.ChangedReview)
	}
	if len(c.Changed) == 0 {
		c.Changed = []tare.Changed{tare.ChangedNothing}
	}
	return v
}

// reviews is how many answers of people a record holds.
func reviews(r tare.Record) int {
	if r.Evidence.Scenario == nil {
		return 0
	}
	return len(r.Evidence.Scenario.Reviews)
}

// amend keeps a further verdict, and the record that it judges where that is another.
func (a *app) amend(id string, ep tare.Episode, further *tare.Entry, v tare.Verdict) error {
	entry, err := tare.NewEntry(v)
	if err != nil {
		return err
	}
	return a.files().Amend(id, ep, further, entry)
}

// sameAnswer reports whether two verdicts say the same, whoever gave them and whenever.
func sameAnswer(a, b tare.Verdict) bool {
	norm := func(v tare.Verdict) string {
		v.Grader, v.Supersedes, v.Correction, v.Proof = "", "", nil, tare.Proof{}
		out, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	return norm(a) == norm(b)
}
