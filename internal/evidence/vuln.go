package evidence

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
)

// A VulnRequest says what to observe of a tree in which a vulnerability was to be repaired.
type VulnRequest struct {
	Task       *tare.Task
	Final      tare.Tree // what the agent left; a .git in it is left out
	Sandbox    sandbox.Sandbox
	Jobs       int                          // how many commands may run at a time; default 2
	Only       func(tare.CheckKind) bool    // nil: all. What others need, the build, is made in any case
	Controls   bool                         // observe the unpatched tree as well, and of benign inputs the reference
	Cache      *VulnCache                   // of what controls observe; nil: none
	UntilFault bool                         // of one kind no more programs are started after one that shows a fault or is ended by a limit: enough to tell what catches a tree that is known to be wrong
	Ahead      []tare.CheckKind             // of poc, intent and function: begun as soon as the tree is built, since they will be asked for
	OnOutput   func(tare.CheckKind, []byte) // progress, perhaps from several at a time
}

// GatherVuln observes r. The error is that of ctx, when it has ended; whatever else of ours fails is in Evidence.Problems,
// and does not keep the other checks from being made. The order of the checks and their ids do not depend on which ends first.
func GatherVuln(ctx context.Context, r VulnRequest) (tare.Evidence, error) {
	s := OpenVuln(r)
	type named struct {
		what string
		do   func(context.Context) (tare.Check, error)
	}
	var steps []named
	add := func(w *vulnWorld, kind tare.CheckKind, do func(context.Context) (tare.Check, error)) {
		if s.wants(kind) {
			steps = append(steps, named{fmt.Sprintf("checking %s of %s", kind, w.world), func(ctx context.Context) (tare.Check, error) { return w.controlled(ctx, kind, do) }})
		}
	}
	v := r.Task.Vuln
	for _, w := range s.worlds() {
		fix, control := w == s.fix, w == s.seed
		add(w, tare.CheckBuild, w.build)
		if v.Driver != nil {
			add(w, tare.CheckDriver, w.driver)
		}
		if fix || control {
			add(w, tare.CheckPoC, w.pocs)
			if len(v.Variants) > 0 {
				add(w, tare.CheckVariant, w.variants)
			}
		}
		if v.Benign != nil && !control {
			add(w, tare.CheckBenign, w.benign)
		}
		if v.Intent != nil && (fix || control) {
			add(w, tare.CheckIntent, w.intent)
		}
		if v.Function != nil && (fix || control) {
			add(w, tare.CheckFunction, w.function)
		}
		if (v.Function != nil || v.Intent != nil) && fix && s.lay.steered() {
			add(w, tare.CheckSteered, s.steered)
		}
	}
	checks := make([]tare.Check, len(steps))
	errs := make([]error, len(steps))
	parallel(len(steps), len(steps), func(i int) { checks[i], errs[i] = steps[i].do(ctx) })
	closed := s.Close()
	if err := ctx.Err(); err != nil {
		return tare.Evidence{}, fmt.Errorf("gathering evidence: %w", err)
	}
	ev := tare.Evidence{Isolation: r.Sandbox.Isolation(), Changes: s.lay.changes, Steering: s.lay.steering, Vuln: &tare.VulnEvidence{Patch: s.Patch(), Checks: []tare.Check{}}}
	for i, c := range checks {
		switch {
		case errors.Is(errs[i], errNotBuilt):
		case errs[i] != nil:
			ev.Problems = append(ev.Problems, tare.Problem{Where: steps[i].what, Error: errs[i].Error()})
		default:
			c.ID = fmt.Sprintf("e%d", len(ev.Vuln.Checks)+1)
			ev.Vuln.Checks = append(ev.Vuln.Checks, c)
		}
	}
	if closed != nil {
		ev.Problems = append(ev.Problems, tare.Problem{Where: "clearing up", Error: closed.Error()})
	}
	ev.Vuln.Silencers = s.silencers()
	return ev, nil
}

// silencers are what the patched tree has and the unpatched one has not that could keep a sanitizer from seeing, where both
// were built.
func (s *VulnChecks) silencers() []tare.Silencer {
	out := embedders(s.lay)
	for _, kind := range []tare.CheckKind{tare.CheckBuild, tare.CheckDriver} {
		was, now := s.seed.profileOf(kind), s.fix.profileOf(kind)
		if was == nil || now == nil {
			continue
		}
		for _, f := range check.Silencers(*was, *now) {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// errNotBuilt says that a check was not made because its tree, or the driver, could not be built.
var errNotBuilt = errors.New("it was not built")

// VulnChecks are the checks of one tree, each made when it is asked for. What was built stays, and no run can change it.
// Its methods may be called from several goroutines. Where the build failed, those that need it answer with a check that is
// not complete and says so.
type VulnChecks struct {
	VulnRequest
	lay       *vulnLayout
	slots     chan struct{}
	copies    check.Copies // of what was built
	fix, seed *vulnWorld

	mu    sync.Mutex
	ahead map[string]*aheadCheck // by kind and index
	stop  context.CancelFunc     // of those
	wg    sync.WaitGroup
}

// An aheadCheck is a check that was begun before it was asked for.
type aheadCheck struct {
	done chan struct{}
	c    tare.Check
	err  error
}

// OpenVuln readies the checks of r.Final. Nothing is run yet. It is to be closed.
func OpenVuln(r VulnRequest) *VulnChecks {
	s := &VulnChecks{VulnRequest: r, lay: newVulnLayout(r.Task, r.Final)}
	if s.Jobs <= 0 {
		s.Jobs = defaultJobs
	}
	s.slots = make(chan struct{}, s.Jobs)
	s.fix = s.world(tare.WorldFix, s.lay.graded())
	s.seed = s.world(tare.WorldSeed, r.Task.Seed)
	return s
}

func (s *VulnChecks) world(name tare.World, t tare.Tree) *vulnWorld {
	return &vulnWorld{VulnChecks: s, world: name, tree: t}
}

// worlds are those that are observed.
func (s *VulnChecks) worlds() []*vulnWorld {
	out := []*vulnWorld{s.fix}
	if !s.Controls {
		return out
	}
	out = append(out, s.seed)
	if refs := s.Task.References; s.Task.Vuln.Benign != nil && len(refs) > 0 && s.wants(tare.CheckBenign) {
		out = append(out, s.world(tare.WorldReference(refs[0].Name), refs[0].Solution(s.Task.Seed)))
	}
	return out
}

func (s *VulnChecks) wants(k tare.CheckKind) bool { return s.Only == nil || s.Only(k) }

// Patch says how the patch came to the pristine tree.
func (s *VulnChecks) Patch() tare.PatchFact {
	return tare.PatchFact{Digest: s.lay.final.Digest(), Empty: len(s.lay.changes) == 0, Restored: s.lay.restored, Collided: s.lay.collided}
}

// Steering is what was kept out of the graded trees.
func (s *VulnChecks) Steering() []tare.Steering { return s.lay.steering }

// Build builds the tree, and the driver where there is one; it is made once.
func (s *VulnChecks) Build(ctx context.Context) (tare.Check, error) {
	c, err := s.fix.build(ctx)
	if err == nil && s.Task.Vuln.Driver != nil && s.fix.built.OK {
		c, err = s.fix.driver(ctx)
	}
	if err == nil && len(s.Ahead) > 0 {
		s.begin(ctx)
	}
	return c, err
}

// begin begins the checks that will be asked for.
func (s *VulnChecks) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead != nil {
		return
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.ahead = map[string]*aheadCheck{}
	one := func(kind tare.CheckKind, i int, do func(context.Context) (tare.Check, error)) {
		a := &aheadCheck{done: make(chan struct{})}
		s.ahead[aheadKey(kind, i)] = a
		s.wg.Go(func() {
			defer close(a.done)
			a.c, a.err = do(ctx)
		})
	}
	for _, kind := range s.Ahead {
		switch kind {
		case tare.CheckPoC:
			for i := range s.Task.Vuln.PoCs {
				one(kind, i, func(ctx context.Context) (tare.Check, error) { return s.onePoC(ctx, i) })
			}
		case tare.CheckIntent:
			one(kind, 0, s.fix.intent)
		case tare.CheckFunction:
			one(kind, 0, s.fix.function)
		}
	}
}

func aheadKey(kind tare.CheckKind, i int) string { return fmt.Sprint(kind, i) }

// Close ends what was begun and not asked for, and throws away what was laid out.
func (s *VulnChecks) Close() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.wg.Wait()
	return s.copies.Close()
}

// asked is a check that was begun, or one that is made now.
func (s *VulnChecks) asked(ctx context.Context, kind tare.CheckKind, i int, do func(context.Context) (tare.Check, error)) (tare.Check, error) {
	s.mu.Lock()
	a := s.ahead[aheadKey(kind, i)]
	s.mu.Unlock()
	if a == nil {
		return s.fix.answer(do(ctx))
	}
	select {
	case <-a.done:
		return s.fix.answer(a.c, a.err)
	case <-ctx.Done():
		return tare.Check{}, ctx.Err()
	}
}

// PoC runs the PoC with that index.
func (s *VulnChecks) PoC(ctx context.Context, i int) (tare.Check, error) {
	return s.asked(ctx, tare.CheckPoC, i, func(ctx context.Context) (tare.Check, error) { return s.onePoC(ctx, i) })
}

func (s *VulnChecks) onePoC(ctx context.Context, i int) (tare.Check, error) {
	p := s.Task.Vuln.PoCs[i]
	return s.fix.starts(ctx, tare.CheckPoC, []check.Start{s.poc(p, p.Name, p.Input)})
}

// Intent runs the hidden tests, which the task must have.
func (s *VulnChecks) Intent(ctx context.Context) (tare.Check, error) {
	return s.asked(ctx, tare.CheckIntent, 0, s.fix.intent)
}

// Function runs the project's own tests, which the task must have.
func (s *VulnChecks) Function(ctx context.Context) (tare.Check, error) {
	return s.asked(ctx, tare.CheckFunction, 0, s.fix.function)
}

// answer makes a check of one that could not be made for want of a build.
func (w *vulnWorld) answer(c tare.Check, err error) (tare.Check, error) {
	if errors.Is(err, errNotBuilt) {
		c.Complete, c.Defect, err = false, "the build failed", nil
	}
	return c, err
}

// poc is a run of p with an input of its own or of a variant.
func (s *VulnChecks) poc(p tare.PoC, id string, input []byte) check.Start {
	return check.Start{ID: id, Command: p.Command, Input: input, Stdin: p.Stdin, Wall: p.Wall, Trigger: &p.Triggers}
}

// steered runs the functional tests, or the hidden ones where there are no others, on the tree as the agent left it, with
// all that could steer.
func (s *VulnChecks) steered(ctx context.Context) (tare.Check, error) {
	w := s.world(tare.WorldFix, s.lay.final)
	w.asLeft = true
	set := s.Task.Vuln.Function
	if set == nil {
		set = s.Task.Vuln.Intent
	}
	c, err := w.tests(ctx, tare.CheckSteered, set)
	if errors.Is(err, errNotBuilt) && s.fix.built != nil && s.fix.built.OK {
		c.Complete, c.Defect, err = false, "as it was left, the tree does not build", nil
	}
	return c, err
}

// A vulnWorld is one tree, and what has been built of it.
type vulnWorld struct {
	*VulnChecks
	world  tare.World
	tree   tare.Tree
	asLeft bool // with what could steer in place

	mu              sync.Mutex
	built, driven   *check.Built
	builtC, drivenC tare.Check
	runs            tare.Tree // what programs find; the same in memory for all, so that they can share copies
	runsSum         tare.Digest
	profiles        sync.Map // *check.Profile by kind of check

	pocsMade, functionMade madeOnce // which others wait for
}

// profileOf is what a build had that could silence a sanitizer; nil where nobody looked.
func (w *vulnWorld) profileOf(kind tare.CheckKind) *check.Profile {
	p, _ := w.profiles.Load(kind)
	out, _ := p.(*check.Profile)
	return out
}

// check is an empty check of that kind.
func (w *vulnWorld) check(kind tare.CheckKind) tare.Check {
	return tare.Check{Kind: kind, World: w.world, Tree: w.tree.Digest(), Executions: []tare.Execution{}}
}

// slot takes one of the places for commands that run at a time; the function gives it back.
func (w *vulnWorld) slot(ctx context.Context) (func(), error) {
	select {
	case w.slots <- struct{}{}:
		return func() { <-w.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *vulnWorld) output(kind tare.CheckKind) func([]byte) {
	if w.OnOutput == nil || w.world != tare.WorldFix {
		return nil
	}
	return func(p []byte) { w.OnOutput(kind, p) }
}

// build builds the tree unless that was done.
func (w *vulnWorld) build(ctx context.Context) (tare.Check, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buildOnce(ctx)
}

func (w *vulnWorld) buildOnce(ctx context.Context) (tare.Check, error) {
	if w.built != nil {
		return w.builtC, nil
	}
	v := w.Task.Vuln
	b, c, err := w.buildOf(ctx, tare.CheckBuild, check.Subject{Tree: w.tree, Script: v.Build})
	if err == nil {
		w.built, w.builtC = &b, c
	}
	return c, err
}

// buildOf has a subject built.
func (w *vulnWorld) buildOf(ctx context.Context, kind tare.CheckKind, s check.Subject) (check.Built, tare.Check, error) {
	c := w.check(kind)
	free, err := w.slot(ctx)
	if err != nil {
		return check.Built{}, c, err
	}
	defer free()
	s.Language, s.OnOutput = w.Task.Vuln.Language, w.output(kind)
	if s.Modules, err = w.needed(ctx); err != nil {
		return check.Built{}, c, err
	}
	s.Look = w.Controls && (w == w.fix || w == w.seed)
	b, sum, err := w.buildSubject(ctx, s)
	if err != nil {
		return b, c, err
	}
	if b.Profile != nil {
		w.profiles.Store(kind, b.Profile)
	}
	c.Tree, c.Complete = s.Tree.Digest(), true
	if s.Script.Text != "" {
		c.Executions = append(c.Executions, b.Did)
		c.Seconds = b.Did.Seconds
	}
	c.Log, c.LogDigest = b.Log.Bytes(), sum
	return b, c, nil
}

// needed is the cache of the modules that builds in Go may need: those of the task's own trees. What an agent's go.mod names is
// not fetched.
func (s *VulnChecks) needed(ctx context.Context) (string, error) {
	v := s.Task.Vuln
	if v.Language != "go" {
		return "", nil
	}
	var over tare.Tree
	if v.Driver != nil {
		over = v.Driver.Files
	}
	if v.Intent != nil {
		over = over.Overlay(v.Intent.Files)
	}
	trees := []tare.Tree{s.Task.Seed.Overlay(over)}
	for _, r := range s.Task.References {
		trees = append(trees, s.Task.Seed.Overlay(r.Fix).Overlay(over))
	}
	return check.ModuleStore{Dir: filepath.Join(s.Sandbox.LastingDir(), "modules")}.Needs(ctx, trees...)
}

// driver lays the driver over what was built and builds it, unless that was done.
func (w *vulnWorld) driver(ctx context.Context) (tare.Check, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.driverOnce(ctx)
}

func (w *vulnWorld) driverOnce(ctx context.Context) (tare.Check, error) {
	if w.driven != nil {
		return w.drivenC, nil
	}
	c, err := w.buildOnce(ctx)
	if err != nil {
		return c, err
	}
	if !w.built.OK {
		return w.check(tare.CheckDriver), errNotBuilt
	}
	v := w.Task.Vuln
	s := check.Subject{Tree: w.built.Tree.Overlay(v.Driver.Files), Script: v.Driver.Build}
	b, c, err := w.buildOf(ctx, tare.CheckDriver, s)
	if err == nil {
		w.driven, w.drivenC = &b, c
	}
	return c, err
}

// ready is what programs are run in: what the build left, with the driver where there is one.
func (w *vulnWorld) ready(ctx context.Context) (tare.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &w.built
	if w.Task.Vuln.Driver != nil {
		b = &w.driven
		if _, err := w.driverOnce(ctx); err != nil {
			return nil, err
		}
	} else if _, err := w.buildOnce(ctx); err != nil {
		return nil, err
	}
	if !(*b).OK {
		return nil, errNotBuilt
	}
	if w.runs == nil {
		w.runs = runnable(w.Task.Vuln, (*b).Tree)
		w.runsSum = w.runs.Digest()
	}
	return w.runs, nil
}
