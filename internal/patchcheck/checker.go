package patchcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare"
	"tare/internal/workspace"
)

// Config says what a Checker is made of. Snapshot and Open are required.
type Config struct {
	Level Level
	Has   Has

	// Snapshot reads the tree as it is. What had to be left out of it is an error of workspace.LeftOut's kind.
	Snapshot func() (tare.Tree, error)
	Open     Open

	// Cut takes hidden material out of what agents are shown; nil takes out nothing.
	Cut func([]byte) []byte

	// OnProblem is handed what of ours failed. It may be nil.
	OnProblem func(error)

	// Longest bounds one run of test_patch, and one action, whatever the checks do; default 1 h. What runs into it is a
	// failure of ours: the task's own limits end what hangs because of the tree.
	Longest time.Duration

	Now func() time.Time // default time.Now
}

const (
	defaultLongest = time.Hour
	maxWaiting     = 16 // runs that are queued or under way; each holds a snapshot
)

// Reasons why a Checker does not do what it is asked.
var (
	ErrPhase = errors.New("tools are only available in the agent's phase")
	ErrBusy  = errors.New("too many calls wait already; call again when one of them was answered")
)

// A Checker checks one tree, for any number of callers.
type Checker struct {
	cfg  Config
	turn chan struct{} // holds one token: one action at a time

	ctx    context.Context // ends with the agent's phase, or with Close; a field since it bounds the Checker, not a call
	cancel context.CancelCauseFunc
	active sync.WaitGroup

	mu     sync.Mutex
	over   bool // the agent's phase
	closed bool
	runs   map[tare.Digest]*run // of test_patch, queued or under way
	queued int

	bench bench // what actions of the daemon work on; guarded by turn
}

// NewChecker readies a Checker. Close it when nobody calls any more.
func NewChecker(cfg Config) (*Checker, error) {
	if cfg.Snapshot == nil || cfg.Open == nil {
		return nil, errors.New("making checker: snapshot and open are required")
	}
	if cfg.Level < FullAssistance || cfg.Level > NoBuild {
		return nil, fmt.Errorf("making checker: there is no %v", cfg.Level)
	}
	if cfg.Cut == nil {
		cfg.Cut = slices.Clone[[]byte]
	}
	if cfg.OnProblem == nil {
		cfg.OnProblem = func(error) {}
	}
	if cfg.Longest <= 0 {
		cfg.Longest = defaultLongest
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Checker{cfg: cfg, turn: make(chan struct{}, 1), runs: map[tare.Digest]*run{}}
	c.turn <- struct{}{}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// EndPhase ends the agent's phase: what agents started is cancelled, and when it returns nothing of it is under way. From
// then on agents are refused. It may be called again.
func (c *Checker) EndPhase() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.cancel(ErrPhase)
	c.active.Wait()
}

// Over reports whether the agent's phase is over.
func (c *Checker) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Close ends the agent's phase, waits for what is under way and frees what was built. It may be called again.
func (c *Checker) Close() error {
	c.EndPhase()
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.bench.close()
}

// A run is one run of test_patch, which several callers may wait for.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
	report Report
	err    error

	waiting int // callers; guarded by Checker.mu

	mu    sync.Mutex
	stage Stage
}

func (r *run) at(s Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage = s
}

func (r *run) now() Stage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stage
}

// A Waiter waits for a run of test_patch.
type Waiter struct {
	c      *Checker
	run    *run
	Joined bool // another call of the same tree had begun the run
}

// Stage says how far the run is.
func (w *Waiter) Stage() Stage { return w.run.now() }

// Done is closed when the run has ended.
func (w *Waiter) Done() <-chan struct{} { return w.run.done }

// Start begins a run of test_patch on the tree as it is now, or joins the one of the same tree that is under way.
// Wait must be called after it. The error is ErrPhase, ErrBusy or a failure of ours, which OnProblem was handed.
func (c *Checker) Start() (*Waiter, error) {
	if c.Over() {
		return nil, ErrPhase
	}
	tree, err := c.snapshot()
	if err != nil {
		return nil, c.problem(err)
	}
	key := tree.Digest()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, ErrPhase
	}
	if r := c.runs[key]; r != nil {
		r.waiting++
		return &Waiter{c, r, true}, nil
	}
	if c.queued >= maxWaiting {
		return nil, ErrBusy
	}
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.cfg.Longest, fmt.Errorf("a run of test_patch took longer than %v", c.cfg.Longest))
	r := &run{cancel: cancel, done: make(chan struct{}), waiting: 1, stage: Stage{Queued: true}}
	c.runs[key] = r
	c.queued++
	c.active.Add(1)
	go c.carryOut(ctx, key, tree, r)
	return &Waiter{c, r, false}, nil
}

// Wait waits for the run. When ctx ends first, the caller is counted out, and the run whose last caller that was is
// cancelled, with all that it started.
func (w *Waiter) Wait(ctx context.Context) (Report, error) {
	select {
	case <-w.run.done:
		return w.run.report, w.run.err
	case <-ctx.Done():
	}
	w.c.mu.Lock()
	w.run.waiting--
	last := w.run.waiting == 0
	if last {
		w.c.forget(w.run) // so that a new call begins anew
	}
	w.c.mu.Unlock()
	if last {
		w.run.cancel()
		<-w.run.done
	}
	return Report{}, ctx.Err()
}

// forget makes r a run that nobody can join. The caller holds mu.
func (c *Checker) forget(r *run) {
	for key, other := range c.runs {
		if other == r {
			delete(c.runs, key)
		}
	}
}

func (c *Checker) carryOut(ctx context.Context, key tare.Digest, tree tare.Tree, r *run) {
	defer c.active.Done()
	defer r.cancel()
	defer close(r.done)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(r)
		c.queued--
	}()
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		r.err = c.problem(context.Cause(ctx))
		return
	}
	if r.report, r.err = c.check(ctx, tree, r.at); r.err != nil {
		if ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
		r.err = c.problem(r.err)
	}
}

// check makes the checks of a snapshot. At a level that enables none, nothing is opened.
func (c *Checker) check(ctx context.Context, tree tare.Tree, at func(Stage)) (r Report, err error) {
	if len(c.cfg.Level.Withheld()) == len(kinds) {
		return Report{Level: c.cfg.Level}, nil
	}
	checks, err := c.cfg.Open(ctx, tree, c.cfg.Level.ahead(c.cfg.Has))
	if err != nil {
		return Report{}, fmt.Errorf("opening the checks: %w", err)
	}
	defer func() { err = errors.Join(err, checks.Close()) }()
	if r, err = sequence(ctx, c.cfg.Level, c.cfg.Has, checks, at); err != nil {
		return Report{}, err
	}
	r.Log = c.cfg.Cut(r.Log)
	return r, nil
}

// snapshot reads the tree; what cannot be in a tree is left out of it, as it is of the final grade.
func (c *Checker) snapshot() (tare.Tree, error) {
	t, err := c.cfg.Snapshot()
	if _, bad := workspace.LeftOut(err); bad != nil {
		return nil, fmt.Errorf("reading the tree: %w", bad)
	}
	return t, nil
}

// problem hands a failure of ours on, and returns it. That a caller went away or the agent's phase ended is none.
func (c *Checker) problem(err error) error {
	if err != nil && !errors.Is(err, ErrPhase) && !errors.Is(err, context.Canceled) {
		c.cfg.OnProblem(err)
	}
	return err
}
