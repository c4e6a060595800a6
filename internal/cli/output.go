package cli

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"tare"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/store"
)

// canKeep checks that what work will make can be kept: in the store, and in the files that were asked for, of which "" is
// none. It leaves nothing behind but the store's directory.
func (a *app) canKeep(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := canWrite(path); err != nil {
			return usage("%s cannot be written: %w; nothing was run", path, bare(err))
		}
	}
	if _, asFiles := a.opened.(*store.Files); asFiles && a.db == "" {
		a.opened = nil // there was nothing to read, and now there will be
	}
	a.writes = true
	if err := a.files().Ready(); err != nil {
		if (a.db != "" || errors.Is(err, store.ErrAway)) && !isUsage(err) {
			return exit{exitRig, err}
		}
		return usage("nothing can be kept in %s: %w; choose another directory with --state", a.state, bare(err))
	}
	return nil
}

func canWrite(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case err == nil && !info.Mode().IsRegular():
		return nil // a terminal or a pipe; to open it could wait for its reader
	case err == nil:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

// bare is err without the operation and the path that the os package puts before it.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (a *app) options() report.Options {
	return report.Options{Color: a.colour, Width: widthOf(a.stdout)}
}

// rows turns results into what the report shows.
func rows(results []run.Result) []report.Row {
	out := make([]report.Row, len(results))
	for i, r := range results {
		out[i] = report.Row{
			Episode: r.Job.Episode, Title: r.Job.Task.Title, HeldOut: r.Job.Task.Category == tare.HeldOut, Canary: r.Job.Task.Kind == tare.Canary, Decoys: r.Job.Task.Decoys,
			Verdict: r.Verdict, History: r.History, Trajectory: r.Record.Trajectory,
		}
	}
	return out
}

func (a *app) writeMatrix(results []run.Result) error {
	return report.Matrix(a.stdout, rows(results), a.options())
}

func (a *app) writeVerdict(r run.Result) error {
	return report.VerdictText(a.stdout, rows([]run.Result{r})[0], a.options())
}

func (a *app) writeMetrics(results []run.Result) error {
	return report.Metrics(a.stdout, rows(results), a.options())
}

// page is everything of a run that a file can show.
func (a *app) page(id string, results []run.Result) report.Result {
	return report.Result{Run: id, Rows: rows(results), ProofLines: a.proofLines(results)}
}

func (a *app) junit(id string, results []run.Result) func(*os.File) error {
	return func(f *os.File) error { return report.JUnit(f, a.page(id, results)) }
}

func (a *app) html(id string, results []run.Result) func(*os.File) error {
	return func(f *os.File) error { return report.HTML(f, a.page(id, results)) }
}

// count says how a run stands.
func count(results []run.Result) counts { return countOf(rows(results)) }

func countOf(all []report.Row) counts {
	c := report.Count(all)
	return counts{
		Planned: c.Planned, Graded: c.Graded(), Passed: c.Passed, Failed: c.Failed, Unverified: c.Unverified,
		Unfinished: c.Unfinished, Infrastructure: c.Infrastructure, Missing: c.NotPlayed,
		PassedBounds: [2]int{c.Passed, c.Planned - c.Failed}, Reward: c.Reward, RewardBounds: c.Bounds,
	}
}

func startedAt(results []run.Result) time.Time {
	var first time.Time
	for _, r := range results {
		if at := r.Record.Trajectory.Started; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}
