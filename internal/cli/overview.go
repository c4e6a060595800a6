package cli

import (
	"context"

	"tare"
	"tare/internal/run"
	"tare/internal/suite"
)

// overview is the results of a run as a table shows them, from the rows of a database, without reading each record; ok is false where
// there are no such rows, or where more is shown than they have.
func (a *app) overview(ctx context.Context, id string) (results []run.Result, ok bool, err error) {
	d, isDB := a.database()
	if !isDB || a.json() {
		return nil, false, nil
	}
	rows, err := d.Summaries(ctx, id)
	if err != nil || len(rows) == 0 {
		return nil, false, err
	}
	if canaries, err := a.knownCanaries(id); err != nil || len(canaries) > 0 {
		return nil, false, err // a table of another kind
	}
	known, err := a.summaries(nil)
	if err != nil {
		return nil, false, err
	}
	tasks, summaries := map[tare.Digest]*tare.Task{}, map[tare.Digest]suite.Summary{}
	for _, s := range known {
		tasks[s.Hash], summaries[s.Hash] = &tare.Task{ID: s.ID, Kind: s.Kind, Title: s.Title, Category: s.Category, Runner: s.Runner, Hash: s.Hash}, s
	}
	proofs := map[tare.Digest]tare.Proof{}
	for _, row := range rows {
		ep := row.Episode
		task := tasks[ep.TaskHash]
		if task == nil {
			task = &tare.Task{ID: ep.Task, Title: ep.Task, Hash: ep.TaskHash}
			tasks[ep.TaskHash], summaries[ep.TaskHash] = task, suite.Summarize(task)
		}
		r := run.Result{Job: run.Job{Task: task, Episode: ep}}
		switch {
		case row.Plain:
			r.Verdict = row.Verdict
		case row.State == "done":
			kept, err := d.Find(id, ep)
			if err != nil {
				return nil, false, err
			}
			r.Record, r.Verdict, r.History = kept.Record, kept.Verdict(), kept.Verdicts
		}
		if r.Played() {
			if _, ok := proofs[task.Hash]; !ok {
				proofs[task.Hash] = a.proofOfSummary(summaries[task.Hash])
			}
			r.Verdict.Proof = proofs[task.Hash] // as withProof has it
			r.Verdict.Proof.Harness, r.Verdict.Proof.Ceiling = a.harnessProof(ep)
			if r.Verdict.Grader != tare.GraderDigest() && r.Verdict.Proof.Status == tare.Proven {
				r.Verdict.Proof.Status = tare.Stale
			}
		}
		results = append(results, r)
	}
	return results, true, nil
}
