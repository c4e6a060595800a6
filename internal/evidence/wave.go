package evidence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"tare"
	"tare/internal/check"
)

// A step is one run to make.
type step struct {
	role  tare.Role
	world tare.World
	what  string // for a problem: "running the visible tests"
	do    func(context.Context) (tare.Run, error)
}

// errCancelled says that a sandbox stopped a run that nobody cancelled.
var errCancelled = errors.New("the sandbox cancelled the run")

// wave makes the runs of steps, several at a time, and records them in the order of steps. It is false when one could not
// be made: then the rest of the wave is recorded, and no wave follows. Where the agent's tree does not lend itself to a
// world, that is recorded too, and the run has no id.
func (g *gatherer) wave(ctx context.Context, steps []step) ([]tare.Run, bool) {
	runs := make([]tare.Run, len(steps))
	errs := make([]error, len(steps))
	parallel(g.Jobs, len(steps), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			runs[i], errs[i] = steps[i].do(ctx)
		}
		if errs[i] == nil && runs[i].Ended == "cancelled" {
			errs[i] = errCancelled
		}
	})
	ok := true
	for i, s := range steps {
		var not *check.NotTransformable
		if errors.As(errs[i], &not) {
			g.ev.Unmade = append(g.ev.Unmade, tare.Unmade{World: s.world, Why: not.Error()})
			continue
		}
		if errs[i] != nil {
			g.problem(s.what, errs[i])
			ok = false
			continue
		}
		runs[i].ID, runs[i].Role, runs[i].World = fmt.Sprintf("e%d", len(g.ev.Runs)+1), s.role, s.world
		g.ev.Runs = append(g.ev.Runs, runs[i])
	}
	return runs, ok
}

// parallel calls do for 0 to n-1, at most jobs at a time, in order of their start.
func parallel(jobs, n int, do func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(jobs, n) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
