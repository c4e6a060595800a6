package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare"
	"tare/internal/run"
	"tare/internal/store"
	"tare/internal/suite"
)

// carry notes the folders of tasks that args name, so that workers elsewhere can load them.
func (a *app) carry(args []string) error {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			continue
		}
		s, err := packed(arg)
		if err != nil {
			return err
		}
		a.carried = append(a.carried, s)
	}
	return nil
}

// packed is the archive of a suite, or of a task as a suite of its own.
func packed(dir string) (store.Suite, error) {
	from := dir
	if _, err := os.Stat(filepath.Join(dir, "task.yaml")); err == nil {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return store.Suite{}, err
		}
		t, err := suite.LoadTask(dir)
		if err != nil {
			return store.Suite{}, err
		}
		parent, _, _ := strings.Cut(t.ID, "/")
		tmp, err := os.MkdirTemp("", "tare-suite-")
		if err != nil {
			return store.Suite{}, err
		}
		defer os.RemoveAll(tmp)
		from = filepath.Join(tmp, parent)
		if err := os.CopyFS(filepath.Join(from, filepath.Base(abs)), os.DirFS(abs)); err != nil {
			return store.Suite{}, fmt.Errorf("packing %s: %w", dir, err)
		}
	}
	b, err := suite.Pack(from)
	if err != nil {
		return store.Suite{}, err
	}
	s := store.Suite{Name: filepath.Base(from), Archive: b, Tasks: map[tare.Digest]string{}}
	loaded, err := suite.FromArchive(s.Name, b)
	if err != nil {
		return s, err
	}
	for _, t := range loaded.Tasks {
		s.Tasks[t.Hash] = t.ID
	}
	return s, nil
}

// resumeRun goes on with a run that the database knows the plan of.
func (a *app) resumeRun(ctx context.Context, f runFlags) error {
	a.writes = true
	id, err := a.findRun(f.resume)
	if errors.Is(err, store.ErrNotFound) {
		return usage("there is no run %q in %s", f.resume, a.place())
	}
	if err != nil {
		return err
	}
	d, ok := a.database()
	if !ok {
		return usage("run %s is kept as files: the same command goes on with it", id)
	}
	solutions, err := d.Solutions(ctx, id)
	if err != nil {
		return err
	}
	var fact run.PlanFact
	if err := a.files().Plan(id, &fact); err != nil {
		return err
	}
	known, err := a.tasks(nil)
	if err != nil {
		return err
	}
	source := a.taskSource(d, known)
	var plan run.Plan
	for _, ep := range fact.Episodes {
		job, err := source.job(ctx, ep, solutions[ep.Key()])
		if errors.Is(err, store.ErrNotFound) {
			return usage("task %s has changed since run %s was planned, or is gone: as it is now it is another task, and a run of its own", ep.Task, id)
		}
		if err != nil {
			return err
		}
		plan.Jobs = append(plan.Jobs, job)
	}
	if again, err := plan.ID(); err != nil || again != id {
		return errors.Join(err, usage("the plan of run %s is not that of a run of tasks", id))
	}
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		r.keep = f.keep
		for _, j := range plan.Jobs {
			if here := r.worldOf(j.Task); here != j.Episode.World {
				return usage("run %s was planned with the world %q, and here it is %q: --server names what stands in for it", id, j.Episode.World, here)
			}
		}
		return a.runPlan(ctx, r, plan, f)
	})
}

// judgeAnew judges, by the present grader, what of a run another one judged. Nothing is played for that.
func (a *app) judgeAnew(id string, results []run.Result) error {
	for i, r := range results {
		if !r.Played() || r.Verdict.Grader == tare.GraderDigest() || r.Verdict.Cause == tare.CauseInfrastructure || r.Job.Task.Kind == tare.Canary {
			continue
		}
		_, again, err := a.rejudgeKept(id, r.Job.Episode, r.Job.Task, regradeFlags{why: "the grader has changed since the run began"})
		if err != nil {
			return err
		}
		if again == nil {
			continue
		}
		kept, err := a.files().Find(id, r.Job.Episode)
		if err != nil {
			return err
		}
		results[i].Record, results[i].Verdict, results[i].History = kept.Record, kept.Verdict(), kept.Verdicts
		a.note("judged again by the present grader: %s by %s is %s", r.Job.Episode.Task, printable(r.Job.Episode.Agent), results[i].Verdict.Outcome)
	}
	return nil
}
