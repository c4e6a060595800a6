package patchcheck

import (
	"context"
	"errors"
	"fmt"

	"tare"
)

// A bench is what the daemon's actions work on: what the last build left, and the tree that is graded.
type bench struct {
	checks Checks // nil before the first build
	tree   tare.Digest
	graded bool // of the final tree
	passed bool // the build
	result Outcome

	final *tare.Tree // set by PrepareGrading; guarded by Checker.mu
}

func (b *bench) close() error {
	if b.checks == nil {
		return nil
	}
	err := b.checks.Close()
	b.checks = nil
	return err
}

// exclusively does work when its turn comes. For agents it ends with their phase.
func (c *Checker) exclusively(ctx context.Context, admin bool, work func(context.Context) error) error {
	c.mu.Lock()
	if c.closed || c.over && !admin {
		c.mu.Unlock()
		return ErrPhase
	}
	if !admin {
		c.active.Add(1)
		defer c.active.Done()
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Longest, fmt.Errorf("an action took longer than %v", c.cfg.Longest))
	defer cancel()
	if !admin {
		inner, end := context.WithCancelCause(ctx)
		defer end(nil)
		defer context.AfterFunc(c.ctx, func() { end(ErrPhase) })()
		ctx = inner
	}
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if ctx.Err() != nil { // both were ready
		return context.Cause(ctx)
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return ErrPhase
	}
	err := work(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// action makes one check. Builds and tests are of the tree as it is now, or of the final one where they grade; a PoC is run
// on what the last build left.
func (c *Checker) action(ctx context.Context, k Kind, poc int, grading, admin bool) (ScriptResult, error) {
	var out Outcome
	err := c.exclusively(ctx, admin, func(ctx context.Context) (err error) {
		switch {
		case k == PoCs && c.bench.checks == nil:
			out = Outcome{Exit: -1, Stderr: []byte("project hasn't been built yet - call 'build' action first")}
			return nil
		case k == PoCs && !c.bench.passed:
			out = Outcome{Exit: -1, Stderr: []byte("the last build failed - call 'build' action first")}
			return nil
		case k == PoCs:
			out, err = c.bench.checks.PoC(ctx, poc)
			return err
		}
		tree, err := c.treeFor(grading)
		if err != nil {
			return err
		}
		if err := c.build(ctx, tree, k == Build, grading); err != nil {
			return err
		}
		out = c.bench.result
		if k == Build || !c.bench.passed {
			return nil
		}
		if k == IntentTests {
			out, err = c.bench.checks.IntentTests(ctx)
		} else {
			out, err = c.bench.checks.FunctionalTests(ctx)
		}
		return err
	})
	if err != nil {
		return ScriptResult{}, err
	}
	return c.scriptResult(out, admin), nil
}

// build readies the bench for a tree: afresh when that was asked for, or when another tree stands there.
func (c *Checker) build(ctx context.Context, tree tare.Tree, afresh, grading bool) error {
	b, key := &c.bench, tree.Digest()
	if b.checks != nil && b.tree == key && b.graded == grading && !afresh {
		return nil
	}
	if err := b.close(); err != nil {
		return err
	}
	checks, err := c.cfg.Open(ctx, tree, nil) // what an action does not ask for is not run
	if err != nil {
		return fmt.Errorf("opening the checks: %w", err)
	}
	out, err := checks.Build(ctx)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return errors.Join(err, checks.Close())
	}
	b.checks, b.tree, b.graded, b.passed, b.result = checks, key, grading, out.Passed, out
	return nil
}

// treeFor is the tree that an action is about.
func (c *Checker) treeFor(grading bool) (tare.Tree, error) {
	if !grading {
		return c.snapshot()
	}
	final, ok := c.Final()
	if !ok {
		return nil, refuse(500, "grading hasn't been prepared yet - call prepare_grading first")
	}
	return final, nil
}

// scriptResult is an outcome as the daemon's clients know it: status 0 if and only if the check was passed.
func (c *Checker) scriptResult(o Outcome, admin bool) ScriptResult {
	cut := c.cfg.Cut
	if admin {
		cut = func(b []byte) []byte { return b }
	}
	out := ScriptResult{Code: o.Exit, Stdout: readable(cut(o.Stdout)), Stderr: readable(cut(o.Stderr))}
	if o.Stdout == nil && o.Stderr == nil {
		out.Stdout = readable(cut(o.Log))
	}
	switch {
	case o.Passed:
		out.Code = 0
	case o.Ended != "":
		out.Code = -1
		out.Stderr += "[ended by the limit on " + o.Ended + "]\n"
	case out.Code == 0:
		out.Code = 1
	}
	return out
}

// PrepareGrading ends the agent's phase and takes the tree as it then is, once: to ask again changes nothing.
func (c *Checker) PrepareGrading() error {
	c.EndPhase()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	if _, ok := c.Final(); ok {
		return nil
	}
	tree, err := c.snapshot()
	if err != nil {
		return err
	}
	if err := c.bench.close(); err != nil { // nothing that was built before is graded
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bench.final = &tree
	return nil
}

// Final is the tree that is graded, once PrepareGrading has taken it.
func (c *Checker) Final() (tare.Tree, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bench.final == nil {
		return nil, false
	}
	return *c.bench.final, true
}
