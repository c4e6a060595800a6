package evidence

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tare"
	"tare/internal/check"
)

// A madeOnce is a check that is made when the first asks for it.
type madeOnce struct {
	once sync.Once
	c    tare.Check
	err  error
}

func (m *madeOnce) get(do func() (tare.Check, error)) (tare.Check, error) {
	m.once.Do(func() { m.c, m.err = do() })
	return m.c, m.err
}

// pocs runs all PoCs, once.
func (w *vulnWorld) pocs(ctx context.Context) (tare.Check, error) {
	return w.pocsMade.get(func() (tare.Check, error) { return w.pocsNow(ctx) })
}

func (w *vulnWorld) pocsNow(ctx context.Context) (tare.Check, error) {
	var starts []check.Start
	for _, p := range w.Task.Vuln.PoCs {
		starts = append(starts, w.poc(p, p.Name, p.Input))
	}
	return w.starts(ctx, tare.CheckPoC, starts)
}

// decided is a check of which nothing is run, since another one has decided the gate that it belongs to.
func (w *vulnWorld) decided(kind tare.CheckKind, why string) tare.Check {
	c := w.check(kind)
	c.Complete, c.Defect, c.LogDigest = true, why, tare.HashBytes(nil)
	return c
}

// variants runs all variants, each as the PoC that it was made of, unless a PoC decides. Their ids are POC/NAME.
func (w *vulnWorld) variants(ctx context.Context) (tare.Check, error) {
	if w == w.fix {
		pocs, err := w.pocs(ctx)
		if err != nil {
			return w.check(tare.CheckVariant), err
		}
		for i, e := range pocs.Executions {
			if shows(&w.Task.Vuln.PoCs[i].Triggers, e) {
				return w.decided(tare.CheckVariant, "PoC "+e.ID+" shows a fault; no variants were needed"), nil
			}
		}
	}
	var starts []check.Start
	for _, in := range w.Task.Vuln.Variants {
		i := slices.IndexFunc(w.Task.Vuln.PoCs, func(p tare.PoC) bool { return p.Name == in.Of })
		if i < 0 {
			return w.check(tare.CheckVariant), fmt.Errorf("variant %s is of PoC %s, which is none", in.Name, in.Of)
		}
		starts = append(starts, w.poc(w.Task.Vuln.PoCs[i], in.Of+"/"+in.Name, in.Data))
	}
	return w.starts(ctx, tare.CheckVariant, starts)
}

// benign runs all benign inputs, unless tests of the project decide.
func (w *vulnWorld) benign(ctx context.Context) (tare.Check, error) {
	if set := w.Task.Vuln.Function; set != nil && w == w.fix && w.wants(tare.CheckFunction) {
		tests, err := w.function(ctx)
		if err != nil {
			return w.check(tare.CheckBenign), err
		}
		if !passes(set, tests) {
			return w.decided(tare.CheckBenign, "tests of the project did not pass; no benign inputs were needed"), nil
		}
	}
	var starts []check.Start
	for _, in := range w.Task.Vuln.Benign.Inputs {
		starts = append(starts, check.Start{ID: in.Name, Command: w.Task.Vuln.Benign.Command, Input: in.Data, Stdin: w.Task.Vuln.Benign.Stdin})
	}
	return w.starts(ctx, tare.CheckBenign, starts)
}

// starts runs programs, each in a copy of what was built, several at a time.
func (w *vulnWorld) starts(ctx context.Context, kind tare.CheckKind, starts []check.Start) (tare.Check, error) {
	c := w.check(kind)
	built, err := w.ready(ctx)
	if err != nil {
		return c, err
	}
	for i := range starts {
		starts[i].Tree = built
	}
	return w.startsIn(ctx, c, starts)
}

// startsIn is starts where each has its tree.
func (w *vulnWorld) startsIn(ctx context.Context, c tare.Check, starts []check.Start) (tare.Check, error) {
	c.Executions = make([]tare.Execution, len(starts))
	logs := make([]check.Log, len(starts))
	errs := make([]error, len(starts))
	var enough atomic.Int64 // the first that shows enough
	enough.Store(int64(len(starts)))
	parallel(w.Jobs, len(starts), func(i int) {
		if enough.Load() < int64(i) {
			return
		}
		free, err := w.slot(ctx)
		if err != nil {
			errs[i] = err
			return
		}
		defer free()
		s := starts[i]
		s.Copies, s.Language, s.OnOutput = &w.copies, w.Task.Vuln.Language, w.output(c.Kind)
		if s.Wall <= 0 {
			s.Wall = w.Task.Limits.Check
		}
		c.Executions[i], logs[i], errs[i] = w.start(ctx, w.runsSum, s)
		if errs[i] == nil && w.decides(c.Kind, s.Trigger, c.Executions[i]) {
			for was := enough.Load(); int64(i) < was && !enough.CompareAndSwap(was, int64(i)); was = enough.Load() {
			}
		}
	})
	if n := int(enough.Load()) + 1; n < len(starts) { // what was begun after that is left out, so that it does not hang on chance
		c.Defect = fmt.Sprintf("the last of %d of %d shows a fault; no more were needed", n, len(starts))
		starts, c.Executions = starts[:n], c.Executions[:n]
	}
	var log check.Log
	for i, s := range starts {
		if errs[i] != nil {
			return c, fmt.Errorf("%s: %w", s.ID, errs[i])
		}
		if len(starts) > 1 && len(logs[i].Bytes()) > 0 {
			fmt.Fprintf(&log, "[%s]\n", s.ID)
		}
		log.Append(&logs[i])
		c.Seconds += c.Executions[i].Seconds
	}
	c.Complete = true // what one of them lacks is with it
	c.Log, c.LogDigest = log.Bytes(), log.Digest()
	return c, nil
}

// decides reports whether an execution shows so much that no more of its kind need be started. Of the patched tree all PoCs and tests
// are, whatever the first show; variants only say more of the gate that one of them has decided.
func (w *vulnWorld) decides(kind tare.CheckKind, t *tare.Trigger, e tare.Execution) bool {
	if w.UntilFault {
		return w.faulty(kind, t, e)
	}
	return kind == tare.CheckVariant && w == w.fix && shows(t, e)
}

// shows reports whether what an input that triggers did shows a fault for certain.
func shows(t *tare.Trigger, e tare.Execution) bool {
	yes, _ := t.Triggered(e)
	return yes || e.Reported() || e.Signal != "" && e.Ended == ""
}

// faulty reports whether an execution shows a fault, or was ended by a limit.
func (w *vulnWorld) faulty(kind tare.CheckKind, t *tare.Trigger, e tare.Execution) bool {
	if e.Ended != "" || e.Signal != "" || e.Reported() {
		return true
	}
	if t != nil {
		yes, _ := t.Triggered(e)
		return yes
	}
	for set, of := range map[*tare.TestSet]tare.CheckKind{w.Task.Vuln.Intent: tare.CheckIntent, w.Task.Vuln.Function: tare.CheckFunction} {
		if set == nil || kind != of {
			continue
		}
		i := slices.IndexFunc(set.Cases, func(c tare.ProgramCase) bool { return c.ID == e.ID })
		return i >= 0 && !set.Cases[i].Right(e)
	}
	return false
}

func (w *vulnWorld) intent(ctx context.Context) (tare.Check, error) {
	return w.tests(ctx, tare.CheckIntent, w.Task.Vuln.Intent)
}

// function runs the project's own tests, once.
func (w *vulnWorld) function(ctx context.Context) (tare.Check, error) {
	return w.functionMade.get(func() (tare.Check, error) { return w.tests(ctx, tare.CheckFunction, w.Task.Vuln.Function) })
}

// tests runs a set of tests.
func (w *vulnWorld) tests(ctx context.Context, kind tare.CheckKind, set *tare.TestSet) (tare.Check, error) {
	if set.Runner == "cases" {
		return w.cases(ctx, kind, set)
	}
	c := w.check(kind)
	if _, err := w.ready(ctx); err != nil {
		return c, err
	}
	r, err := check.For(set.Runner)
	if err != nil {
		return c, err
	}
	free, err := w.slot(ctx)
	if err != nil {
		return c, err
	}
	defer free()
	t := w.tree
	if !w.asLeft || set != w.Task.Vuln.Function {
		t = t.Overlay(set.Files)
	}
	modules, err := w.needed(ctx)
	if err != nil {
		return c, err
	}
	req := check.TestRequest{Tree: t, Nodes: set.IDs, Wall: set.Wall, Steered: w.asLeft, Modules: modules, OnOutput: w.output(kind)}
	if set == w.Task.Vuln.Intent {
		for _, f := range set.Files {
			if isSourceOf(w.Task.Vuln.Language, f.Path) {
				req.Unseen = append(req.Unseen, f.Path)
			}
		}
	}
	if req.Wall <= 0 {
		req.Wall = w.Task.Limits.Check
	}
	run, err := w.runTests(ctx, set.Runner, r, req)
	if err != nil {
		return c, err
	}
	c.Tree, c.Tests, c.Sentinels = t.Digest(), run.Tests, run.Sentinels
	c.Complete, c.Defect, c.Seconds = run.Complete, run.Defect, run.Seconds
	c.Executions = append(c.Executions, tare.Execution{
		ID: set.Runner, Command: run.Command, Started: true, Exit: run.Exit, Signal: run.Signal, Ended: run.Ended, Seconds: run.Seconds, OutDigest: tare.HashBytes(run.Output),
		Reused: run.Reused,
	})
	c.Log, c.LogDigest = run.Output, tare.HashBytes(run.Output)
	return c, nil
}

// cases starts the program once for each case. What must come out stays here.
func (w *vulnWorld) cases(ctx context.Context, kind tare.CheckKind, set *tare.TestSet) (tare.Check, error) {
	c := w.check(kind)
	built, err := w.ready(ctx)
	if err != nil {
		return c, err
	}
	var starts []check.Start
	for _, p := range set.Cases {
		var data tare.Tree
		if !w.asLeft || set != w.Task.Vuln.Function {
			data = dataOf(set, p.Command)
		}
		starts = append(starts, check.Start{ID: p.ID, Tree: built, Data: data, Command: p.Command, Input: p.Stdin, Stdin: true, Wall: set.Wall})
	}
	return w.startsIn(ctx, c, starts)
}
