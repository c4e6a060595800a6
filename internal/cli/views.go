package cli

import (
	"bytes"

	"tare/internal/agent"
	"tare/internal/dialog"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/store"
)

// saveResults writes what other tools read beside each verdict: the dialog and, of a vulnerability, result.json.
func (a *app) saveResults(id string, results []run.Result) error {
	for _, r := range results {
		if !r.Played() {
			continue
		}
		b, err := dialogOfRecord(r)
		if err == nil {
			err = a.files().SaveView(id, r.Job.Episode, store.DialogView, b)
		}
		if err != nil || !hasResult(r) {
			if err != nil {
				return err
			}
			continue
		}
		if b, err = report.PatchResult(r.Job.Task, r.Record, r.Verdict); err != nil {
			return err
		}
		if err := a.files().SaveView(id, r.Job.Episode, store.ResultView, b); err != nil {
			return err
		}
	}
	return nil
}

// dialogOfRecord is the dialog of an episode: the agent's own where it wrote one.
func dialogOfRecord(r run.Result) ([]byte, error) {
	t := r.Record.Trajectory
	s := dialog.Session{Trajectory: t, Start: dialog.Start{Task: t.Episode.Task, Cwd: "/workspace", Agent: t.Episode.Agent}}
	if o := t.Outside; o != nil {
		if len(o.Dialog) > 0 {
			return o.Dialog, nil
		}
		s.Said = o.Messages
	}
	if len(t.Turns) > 0 {
		s.Model = t.Turns[0].Model
	}
	if r.Job.Task != nil {
		s.Prompt = agent.Prompt(r.Job.Task.BriefAt(t.Episode.Level))
	}
	var b bytes.Buffer
	err := dialog.Write(&b, dialog.Of(s))
	return b.Bytes(), err
}
