package cli

import (
	"context"
	"fmt"
	"time"

	"tare"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/suite"
)

// lostVerdict is how an episode counts whose attempts infrastructure ended, every one: as the command that played it says.
func lostVerdict() tare.Verdict {
	return tare.Verdict{Outcome: tare.Unverified, Cause: tare.CauseInfrastructure, RootGate: tare.GateInfrastructure, RewardBounds: [2]float64{0, 1}}
}

// overview is a run as a table shows it, from the rows of a database, without its records and verdicts; ok is false where there are no
// such rows, or where more is shown than they have.
func (a *app) overview(ctx context.Context, id string) (out []report.Row, ok bool, err error) {
	d, isDB := a.database()
	if !isDB {
		return nil, false, nil
	}
	groups, err := d.Groups(ctx, id)
	if err != nil || len(groups) == 0 {
		return nil, false, err
	}
	if canaries, err := a.knownCanaries(id); err != nil || len(canaries) > 0 {
		return nil, false, err // a table of another kind
	}
	tasks, err := a.standingTasks()
	if err != nil {
		return nil, false, err
	}
	for _, g := range groups {
		ep, v := g.Episode, tare.Verdict{}
		switch {
		case g.State == "done" && g.Alone:
			kept, err := d.Find(id, ep)
			if err != nil {
				return nil, false, err
			}
			v = kept.Verdict()
		case g.State == "done":
			v = g.Verdict
		case g.State == "lost":
			v = lostVerdict()
		}
		t := tasks.of(ep)
		if v.Outcome != "" {
			v.Proof = t.proof(v.Grader)
			v.Proof.Harness, v.Proof.Ceiling = tasks.harness(ep)
		}
		out = append(out, report.Row{Episode: ep, Title: t.title, HeldOut: t.heldOut, Verdict: v, Times: g.Times})
	}
	return out, true, nil
}

// standingTasks are the tasks that a table names, and how far their graders and the adapters of agents are proven, each found out once.
type standingTasks struct {
	a        *app
	known    map[tare.Digest]suite.Summary
	seen     map[tare.Digest]standingTask
	adapters map[string]tare.Proof
}

type standingTask struct {
	title   string
	heldOut bool
	stands  tare.Proof
}

func (a *app) standingTasks() (*standingTasks, error) {
	s := &standingTasks{a: a, known: map[tare.Digest]suite.Summary{}, seen: map[tare.Digest]standingTask{}, adapters: map[string]tare.Proof{}}
	known, err := a.summaries(nil)
	for _, t := range known {
		s.known[t.Hash] = t
	}
	return s, err
}

func (s *standingTasks) of(ep tare.Episode) standingTask {
	if t, ok := s.seen[ep.TaskHash]; ok {
		return t
	}
	task, ok := s.known[ep.TaskHash]
	if !ok { // changed or gone since; what became of it still shows
		task = suite.Summary{ID: ep.Task, Title: ep.Task, Hash: ep.TaskHash}
	}
	t := standingTask{title: task.Title, heldOut: task.Category == tare.HeldOut, stands: s.a.proofOfSummary(task)}
	s.seen[ep.TaskHash] = t
	return t
}

// proof is the standing of the task's proof beside a verdict by a grader, as withProof has it.
func (t standingTask) proof(grader tare.Digest) tare.Proof {
	p := t.stands
	if grader != tare.GraderDigest() && p.Status == tare.Proven {
		p.Status = tare.Stale
	}
	return p
}

func (s *standingTasks) harness(ep tare.Episode) (*tare.Harness, *float64) {
	key := adapterKey(ep.Agent, ep.Policy)
	p, ok := s.adapters[key]
	if !ok {
		p.Harness, p.Ceiling = s.a.harnessProof(ep)
		s.adapters[key] = p
	}
	return p.Harness, p.Ceiling
}

// shown is the results of a run with those that were lost, whose last record says why.
func (a *app) shown(id string) ([]run.Result, error) {
	results, err := a.results(id)
	if err != nil {
		return nil, err
	}
	judge := run.Rig{Grader: tare.GraderDigest()}
	for i, r := range results {
		if r.Played() {
			continue
		}
		lost, err := a.files().LostAttempts(id, r.Job.Episode)
		if err != nil {
			return nil, err
		}
		if len(lost) == 0 {
			continue
		}
		last := lost[len(lost)-1]
		entry, err := tare.NewEntry(last)
		if err != nil {
			return nil, err
		}
		results[i].Record, results[i].Verdict = last, judge.Judge(r.Job.Task, last, entry.Hash)
		results[i].Verdict = a.withProof(results[i])
	}
	return results, nil
}

// listRuns lists the runs of the store. What a database says of a run in rows is not read again from its verdicts.
func (a *app) listRuns(ctx context.Context) error {
	runs, err := a.files().Runs()
	if err != nil {
		return err
	}
	if !a.json() && len(runs) == 0 {
		a.note("there are no runs in %s yet; try: tare run tickets --agent baseline,advanced", a.state)
		return nil
	}
	cols := []report.Column{
		{Head: "RUN"}, {Head: "STARTED", Spare: 1}, {Head: "PLANNED", Right: true}, {Head: "GRADED", Right: true}, {Head: "PASS", Right: true},
		{Head: "FAIL", Right: true}, {Head: "UNVERIFIED", Right: true}, {Head: "PROOF"}, {Head: "CEILING", Right: true},
	}
	var lines []report.Line
	for _, id := range runs {
		all, started, err := a.summaryOf(ctx, id)
		if err != nil {
			return err
		}
		n := countOf(all)
		if a.json() {
			if err := a.writeJSON(map[string]any{"schema": "tare.run-summary/1", "run": id, "started": started, "counts": n, "certificates": report.Certificates(all)}); err != nil {
				return err
			}
			continue
		}
		at := "-"
		if !started.IsZero() {
			at = started.Local().Format(time.DateTime)
		}
		cells := []string{id, at}
		for _, number := range []int{n.Planned, n.Graded, n.Passed, n.Failed, n.Unverified} {
			cells = append(cells, fmt.Sprint(number))
		}
		cells = append(cells, report.Standing(all)...)
		lines = append(lines, report.Line{Cells: cells})
	}
	if a.json() {
		return nil
	}
	return report.Table(a.stdout, cols, lines, a.options())
}

// summaryOf is what a list of runs says of one.
func (a *app) summaryOf(ctx context.Context, id string) ([]report.Row, time.Time, error) {
	if all, ok, err := a.overview(ctx, id); ok || err != nil {
		if err != nil {
			return nil, time.Time{}, err
		}
		d, _ := a.database()
		started, err := d.Started(ctx, id)
		return all, started, err
	}
	results, err := a.shown(id)
	return rows(results), startedAt(results), err
}
