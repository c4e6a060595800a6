package patchcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tare"
)

// A lab is a tree that can be changed, checks that stop where a test wants it, and what was seen.
type lab struct {
	mu       sync.Mutex
	source   string
	opened   []string // sources of the trees that were opened
	ahead    []string // what might be begun unasked
	checked  []string // "check source" in the order in which they were made
	closed   int
	problems []error
	gate     chan struct{} // when set, every build waits for it, or for its ctx
	begun    chan string   // when set, told of each build
	busy     int           // checks under way
	scene    *scene
}

func (l *lab) snapshot() (tare.Tree, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return tare.Tree{{Path: "main.c", Mode: 0o644, Data: []byte(l.source)}}, nil
}

func (l *lab) set(source string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.source = source
}

func (l *lab) open(_ context.Context, tree tare.Tree, ahead []Kind) (Checks, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead = append(l.ahead, fmt.Sprint(ahead))
	source := string(tree[0].Data)
	l.opened = append(l.opened, source)
	return &labChecks{l, source}, nil
}

type labChecks struct {
	l      *lab
	source string
}

func (c *labChecks) did(ctx context.Context, name string, out Outcome, err error) (Outcome, error) {
	c.l.mu.Lock()
	c.l.busy++
	if c.l.busy > 1 {
		c.l.problems = append(c.l.problems, errors.New("two checks at once"))
	}
	c.l.checked = append(c.l.checked, name+" "+c.source)
	gate, begun := c.l.gate, c.l.begun
	c.l.mu.Unlock()
	if begun != nil {
		begun <- name + " " + c.source
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.busy--
	out.Stdout = []byte(name + " of " + c.source)
	return out, err
}

func (c *labChecks) Build(ctx context.Context) (Outcome, error) {
	out, err := c.l.scene.Build(ctx)
	return c.did(ctx, "build", out, err)
}
func (c *labChecks) PoC(ctx context.Context, i int) (Outcome, error) {
	out, err := c.l.scene.PoC(ctx, i)
	return c.did(ctx, fmt.Sprintf("PoC%d", i), out, err)
}
func (c *labChecks) IntentTests(ctx context.Context) (Outcome, error) {
	out, err := c.l.scene.IntentTests(ctx)
	return c.did(ctx, "intent", out, err)
}
func (c *labChecks) FunctionalTests(ctx context.Context) (Outcome, error) {
	out, err := c.l.scene.FunctionalTests(ctx)
	return c.did(ctx, "tests", out, err)
}
func (c *labChecks) Close() error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.l.closed++
	return nil
}

func (l *lab) problem(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, err)
}

// checker makes a Checker over a lab.
func (l *lab) checker(t *testing.T, level Level, alter ...func(*Config)) *Checker {
	t.Helper()
	if l.scene == nil {
		l.scene = all()
	}
	cfg := Config{Level: level, Has: l.scene.has, Snapshot: l.snapshot, Open: l.open, OnProblem: l.problem}
	for _, a := range alter {
		a(&cfg)
	}
	c, err := NewChecker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if l.closed != len(l.opened) {
			t.Errorf("%d were opened and %d closed", len(l.opened), l.closed)
		}
	})
	return c
}

func mustStart(t *testing.T, c *Checker) *Waiter {
	t.Helper()
	w, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestHole11TwoCallsAtOnce: calls that overlap never judge each other's build. One of the same tree joins; one of another
// waits, and is of the tree as it was when it came.
func TestHole11TwoCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{source: "one", gate: make(chan struct{}), scene: all()}
		c := l.checker(t, NoIntentTest)
		first := mustStart(t, c)
		synctest.Wait()
		same := mustStart(t, c)
		l.set("two")
		other := mustStart(t, c)
		l.set("three") // nobody asks for this one
		synctest.Wait()
		if first.Joined || !same.Joined || other.Joined {
			t.Errorf("joined: %v %v %v", first.Joined, same.Joined, other.Joined)
		}
		if s := other.Stage(); !s.Queued {
			t.Errorf("the other run is at %v, want it to wait", s)
		}
		close(l.gate)
		for _, w := range []*Waiter{first, same, other} {
			if _, err := w.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want := "build one, PoC0 one, PoC1 one, tests one, build two, PoC0 two, PoC1 two, tests two"
		if got := strings.Join(l.checked, ", "); got != want {
			t.Errorf("checked %s\nwant    %s", got, want)
		}
		if len(l.problems) > 0 {
			t.Error(l.problems)
		}
		again := mustStart(t, c) // what has ended is not joined
		if again.Joined {
			t.Error("a call joins a run that is over")
		}
		again.Wait(t.Context())
	})
}

// TestCancellation: the last caller that goes away ends the run, and not one before.
func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{source: "one", gate: make(chan struct{})}
		c := l.checker(t, BuildOnly)
		a, b := mustStart(t, c), mustStart(t, c)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := a.Wait(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left: %v", err)
		}
		synctest.Wait()
		select {
		case <-b.Done():
			t.Fatal("the run ended though one still waits for it")
		default:
		}
		if _, err := b.Wait(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("the last one: %v", err)
		}
		select {
		case <-b.Done():
		default:
			t.Fatal("the run goes on though nobody waits for it")
		}
		if l.closed != 1 || len(l.problems) > 0 {
			t.Errorf("closed %d, problems %v", l.closed, l.problems)
		}
	})
}

// TestHole5HungScript: a check that ignores its own limit cannot hold the tree for ever, and its end is ours.
func TestHole5HungScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{source: "one", gate: make(chan struct{})}
		c := l.checker(t, BuildOnly, func(cfg *Config) { cfg.Longest = 10 * time.Minute })
		began := time.Now()
		_, err := mustStart(t, c).Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), "longer than 10m0s") || time.Since(began) != 10*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if len(l.problems) != 1 {
			t.Errorf("the operator heard of %v", l.problems)
		}
		if _, err := c.action(t.Context(), Build, -1, false, false); err == nil || time.Since(began) != 20*time.Minute {
			t.Errorf("an action ended after %v: %v", time.Since(began), err)
		}
	})
}

// TestEndOfPhase: it cancels what agents have under way and refuses them from then on, whoever grades goes on.
func TestEndOfPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{source: "one", gate: make(chan struct{})}
		c := l.checker(t, NoFutureTest)
		run := mustStart(t, c)
		acted := make(chan error, 1)
		go func() {
			_, err := c.action(context.Background(), Build, -1, false, false)
			acted <- err
		}()
		synctest.Wait()
		c.EndPhase()
		c.EndPhase()
		if _, err := run.Wait(t.Context()); !errors.Is(err, ErrPhase) {
			t.Errorf("the run: %v", err)
		}
		if err := <-acted; !errors.Is(err, ErrPhase) {
			t.Errorf("the action: %v", err)
		}
		if _, err := c.Start(); !errors.Is(err, ErrPhase) {
			t.Errorf("a new run: %v", err)
		}
		if _, err := c.action(t.Context(), Build, -1, false, false); !errors.Is(err, ErrPhase) {
			t.Errorf("a new action: %v", err)
		}
		close(l.gate)
		if out, err := c.action(t.Context(), IntentTests, -1, false, true); err != nil || out.Stdout != "intent of one" {
			t.Errorf("whoever grades: %+v, %v", out, err)
		}
		if len(l.problems) > 0 {
			t.Error(l.problems)
		}
	})
}

// TestAhead: nothing is begun unasked but what the level enables and a run will ask for; nothing at all by an action.
func TestAhead(t *testing.T) {
	for level, want := range map[Level]string{
		FullAssistance: "[PoCs intent tests]", NoIntentTest: "[PoCs functional tests]", NoFutureTest: "[functional tests]", BuildOnly: "[]",
	} {
		l := &lab{source: "one", scene: all()}
		c := l.checker(t, level)
		if _, err := mustStart(t, c).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.action(t.Context(), Build, -1, false, true); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(l.ahead, " "); got != want+" []" {
			t.Errorf("level %d: %s, want %s and nothing", level, got, want)
		}
	}
	if got := fmt.Sprint(FullAssistance.ahead(Has{Build: true, FunctionalTests: true})); got != "[functional tests]" {
		t.Errorf("a task without PoCs and intent tests: %s", got)
	}
}

// TestActionsFollowTheTree: tests are of the tree as it is now, a PoC is run on what the last build left, and what was built of
// the same tree serves again.
func TestActionsFollowTheTree(t *testing.T) {
	l := &lab{source: "one", scene: all()}
	c := l.checker(t, FullAssistance)
	for _, s := range []struct {
		source string
		kind   Kind
		want   string
	}{
		{"one", Build, "build of one"}, {"one", FunctionalTests, "tests of one"}, {"two", PoCs, "PoC0 of one"},
		{"two", FunctionalTests, "tests of two"}, {"two", PoCs, "PoC0 of two"}, {"two", IntentTests, "intent of two"},
	} {
		l.set(s.source)
		if out, err := c.action(t.Context(), s.kind, 0, false, false); err != nil || out.Stdout != s.want {
			t.Errorf("%v of %s: %+v, %v, want %s", s.kind, s.source, out, err, s.want)
		}
	}
	if got := strings.Join(l.opened, " "); got != "one two" {
		t.Errorf("built %s", got)
	}
}

// TestFlood: calls without number do not pile up.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{source: "0", gate: make(chan struct{})}
		c := l.checker(t, BuildOnly)
		var all []*Waiter
		for i := range maxWaiting {
			l.set(fmt.Sprint(i))
			all = append(all, mustStart(t, c))
		}
		l.set("one more")
		if _, err := c.Start(); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		close(l.gate)
		for _, w := range all {
			w.Wait(t.Context())
		}
		if _, err := mustStart(t, c).Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestHole12PrepareGradingTwice: the tree that is graded is taken once, and what was built before is not graded.
func TestHole12PrepareGradingTwice(t *testing.T) {
	l := &lab{source: "the agent's last"}
	c := l.checker(t, NoFutureTest)
	if _, err := c.action(t.Context(), Build, -1, true, true); err == nil || !strings.Contains(err.Error(), "prepare_grading") {
		t.Errorf("grading before it was prepared: %v", err)
	}
	if _, err := c.action(t.Context(), Build, -1, false, false); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.PrepareGrading(); err != nil {
			t.Fatal(err)
		}
		l.set("changed by somebody later")
	}
	out, err := c.action(t.Context(), PoCs, 0, true, true)
	if err != nil || out.Code != -1 || !strings.Contains(out.Stderr, "hasn't been built yet") {
		t.Errorf("a PoC on what was built before: %+v, %v", out, err)
	}
	if out, err := c.action(t.Context(), Build, -1, true, true); err != nil || out.Stdout != "build of the agent's last" {
		t.Errorf("graded: %+v, %v", out, err)
	}
}
