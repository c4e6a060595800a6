package evidence

import (
	"context"
	"encoding/json"
	"fmt"

	"tare"
	"tare/internal/check"
)

// maxSharedRuns bounds the runs that rows of one pass share, at some kilobytes each, and maxSharedLog the log of one of them.
const (
	maxSharedRuns = 4000
	maxSharedLog  = 32 << 10
)

// WithSharedRuns lets gatherings of one task, in one sandbox, use a run of each other's where all that it is made of is the same to
// the byte: the tree that the program finds, its command, its input, its limits. Many rows of a proof come to the same built tree, the
// unpatched one above all. A proof does so in each pass for itself, so that every run behind a row is made anew in each; a grade never
// does.
func (c *VulnCache) WithSharedRuns() *VulnCache {
	c.runs = &Shared{most: maxSharedRuns}
	return c
}

// shareRun is share for a run of w's task, under a key of all that it is made of.
func shareRun[T any](w *vulnWorld, parts []any, make func() (T, error), whole func(T) bool) (out T, reused bool, err error) {
	if w.Cache == nil || w.Cache.runs == nil || w.Task.Hash == "" {
		out, err = make()
		return out, false, err
	}
	b, err := json.Marshal(append([]any{w.Task.Hash, w.Task.Vuln.Language}, parts...))
	if err != nil {
		return out, false, fmt.Errorf("naming a run: %w", err)
	}
	return share(w.Cache.runs, tare.HashBytes(b), make, whole)
}

// A startMade is what came of a start.
type startMade struct {
	did tare.Execution
	log check.Log
}

// start runs a program in what was built, of which sum is the hash, unless another row has run the same.
func (w *vulnWorld) start(ctx context.Context, sum tare.Digest, s check.Start) (tare.Execution, check.Log, error) {
	parts := []any{"start", sum, s.Data.Digest(), s.Command, tare.HashBytes(s.Input), s.Stdin, s.Wall, s.Trigger}
	m, reused, err := shareRun(w, parts, func() (m startMade, err error) {
		m.did, m.log, err = s.Run(ctx, w.Sandbox)
		return m, err
	}, func(m startMade) bool { return m.did.Defect == "" && len(m.log.Bytes()) <= maxSharedLog })
	m.did.ID, m.did.Reused = s.ID, reused
	return m.did, m.log, err
}

// runTests has a runner run tests, unless another row has run the same.
func (w *vulnWorld) runTests(ctx context.Context, name string, r check.Runner, req check.TestRequest) (tare.Run, error) {
	parts := []any{"tests", name, req.Tree.Digest(), req.Nodes, req.Wall, req.Steered, req.Modules, req.Unseen}
	run, reused, err := shareRun(w, parts, func() (tare.Run, error) { return r.Run(ctx, w.Sandbox, req) },
		func(run tare.Run) bool { return run.Complete && run.Ended == "" })
	run.Reused = reused
	return run, err
}
