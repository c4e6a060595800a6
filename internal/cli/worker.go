package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/queue"
	"tare/internal/store"
)

func (a *app) workers() *cobra.Command {
	var jobs int
	c := &cobra.Command{
		Use:   "worker --db URL",
		Short: "Play episodes that runs on any machine have asked for",
		Long: `worker takes episodes from a database that several machines share, plays and judges them, and keeps what came of them there, until
it is interrupted: once, and it finishes what it plays; twice, and that waits for another worker.

It takes what it can run: episodes that need an isolation, tools, a script or a grader that it does not have are left to others, and
tare ps and the run itself say when there is nobody.`,
		Example: "  tare worker --db postgres://tare@db.example/tare --jobs 8",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if jobs < 1 {
				return usage("--jobs is at least 1")
			}
			return a.withRig(c.Context(), func(ctx context.Context, r *rig) error { return a.workOn(ctx, r, jobs) })
		},
	}
	c.Flags().IntVar(&jobs, "jobs", runtime.NumCPU(), "episodes played at once")
	a.live.add(c.Flags())
	a.presets.add(c.Flags())
	return c
}

func (a *app) workOn(ctx context.Context, r *rig, jobs int) error {
	d, q, err := a.queue(ctx)
	if err != nil {
		return err
	}
	r.inner = max(1, runtime.NumCPU()/jobs)
	known, err := a.tasks(nil)
	if err != nil {
		return err
	}
	ctx, stop, _, done := a.interrupts(ctx)
	defer done()
	cfg := a.worker(r, d, a.taskSource(d, known), jobs, func(e queue.Event) {
		if e.Done {
			what := "graded"
			if e.Played.Lost {
				what = "lost"
			}
			a.note("%s: %s by %s, trial %d, of run %s, in %s", what, e.Lease.Episode.Task, printable(e.Lease.Episode.Agent), e.Lease.Episode.Trial, e.Lease.Run, took(e.Took))
		}
	})
	a.note("playing up to %s of %s at once; it has %s", many(jobs, "episode"), d.Address(), strings.Join(cfg.Has, ", "))
	for {
		err := q.Work(ctx, cfg, stop)
		if !errors.Is(err, queue.ErrTaken) {
			if err == nil && (closed(stop) || ctx.Err() != nil) {
				return exit{exitInterrupted, nil}
			}
			return err
		}
		a.note("%v; beginning anew", err)
	}
}

func (a *app) ps() *cobra.Command {
	return &cobra.Command{
		Use:     "ps",
		Short:   "Show runs that go on, workers, and what they play",
		Example: "  tare ps\n  tare ps --db postgres://tare@db.example/tare --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, ok := a.database()
			if !ok {
				return usage("there is no database in %s", a.place())
			}
			return a.showQueue(c.Context(), d)
		},
	}
}

func (a *app) showQueue(ctx context.Context, d *store.DB) error {
	ids, err := d.Going(ctx)
	if err != nil {
		return err
	}
	var runs []store.Progress
	for _, id := range ids {
		p, err := d.Progress(ctx, id)
		if err != nil {
			return err
		}
		if !p.Ended() {
			runs = append(runs, p)
		}
	}
	pulses, err := d.Pulses(ctx)
	if err != nil {
		return err
	}
	playing, err := d.Playing(ctx)
	if err != nil {
		return err
	}
	if a.json() {
		return a.writeJSON(map[string]any{"schema": "tare.ps/1", "runs": append([]store.Progress{}, runs...), "workers": workersAsJSON(pulses), "playing": append([]store.Playing{}, playing...)})
	}
	if len(runs)+len(pulses) == 0 {
		fmt.Fprintln(a.stdout, "nothing waits, nothing is played, and no worker is there")
		return nil
	}
	for _, p := range runs {
		fmt.Fprintf(a.stdout, "run %s  %s: %d of %d done, %d running, %d waiting, %d held, %d lost\n", p.Run, p.State, p.Done, p.Planned, p.Running, p.Waiting, p.Held, p.Lost)
		unmet, err := d.Unmet(ctx, p.Run)
		if err != nil {
			return err
		}
		for _, u := range unmet {
			fmt.Fprintf(a.stdout, "  no worker can play %s, such as %s, which needs %s\n", many(u.Episodes, "episode"), u.Example, u.Needs)
		}
	}
	for _, p := range pulses {
		fmt.Fprintf(a.stdout, "worker %s  plays %d of %d; process %d; has %s\n", p.ID, p.Plays, p.Slots, p.PID, strings.Join(p.Has, ", "))
	}
	for _, p := range playing {
		fmt.Fprintf(a.stdout, "  %s  %s by %s, trial %d, attempt %d, on %s, for %s\n", p.Run, p.Task, printable(p.Agent), p.Trial, p.Number, p.Worker, took(time.Since(p.Since)))
	}
	return nil
}

func workersAsJSON(pulses []store.Pulse) []map[string]any {
	out := []map[string]any{}
	for _, p := range pulses {
		out = append(out, map[string]any{"id": p.ID, "pid": p.PID, "slots": p.Slots, "playing": p.Plays, "has": p.Has, "grader": p.Version})
	}
	return out
}

// steer is a command that changes what becomes of a run.
func (a *app) steer(use, short, long, said string, do func(context.Context, *store.DB, *queue.Queue, string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " RUN", Short: short, Long: long, Example: "  tare " + use + " 3f2a9c1b7d04", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.findRun(args[0])
			if errors.Is(err, store.ErrNotFound) {
				return usage("there is no run %q in %s", args[0], a.place())
			}
			if err != nil {
				return err
			}
			d, q, err := a.queue(c.Context())
			if err != nil {
				return err
			}
			if err := do(c.Context(), d, q, id); err != nil {
				return err
			}
			a.note(said, id)
			return nil
		},
	}
}

func (a *app) pause() *cobra.Command {
	return a.steer("pause", "Let a run wait: what is played of it is finished, and nothing else begins",
		"pause lets a run wait until tare resume, or the same tare run, lets it go on.", "run %s waits",
		func(ctx context.Context, d *store.DB, _ *queue.Queue, id string) error { return d.Pause(ctx, id) })
}

func (a *app) resume() *cobra.Command {
	return a.steer("resume", "Let a paused run go on", "resume lets a paused run go on, on the workers that there are. tare run --resume plays it here.", "run %s goes on",
		func(ctx context.Context, d *store.DB, q *queue.Queue, id string) error {
			return d.Continue(ctx, id, q.Wake)
		})
}

func (a *app) cancel() *cobra.Command {
	return a.steer("cancel", "End a run: what waits is not played, and what is played of it is given up",
		"cancel ends a run. What was finished stays, and the same tare run plays the rest after all.", "run %s is cancelled; what was finished stays",
		func(ctx context.Context, d *store.DB, _ *queue.Queue, id string) error { return d.Cancel(ctx, id) })
}
