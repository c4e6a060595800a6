package evidence

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/oracle"
)

const (
	outside = "visible/fix behaviour/fix"
	wave1   = " fix seed"
	wave2   = " again reference:a reference:b"
	wave3   = " twin:ta twin:tb"
	wave4   = " text-fix text-seed rewrite poison"
	wave5   = " lent:reference:a lent:reference:b"
	wave6   = " lent:twin:ta lent:twin:tb varied:lent:reference:b varied:graft"
	wave7   = " varied:reference:b varied:seed"
)

func judge(ev tare.Evidence) tare.Verdict {
	task := fakeTask()
	rec := tare.Record{Schema: tare.RecordSchema, TaskHash: task.Hash, Evidence: ev}
	rec.Trajectory.Stop, rec.Trajectory.Episode.TaskHash = tare.EndTurn, task.Hash
	return oracle.Judge(task, rec)
}

// TestGather says, for each sort of solution, which runs are made and where they stop, and that the oracle needs no more.
func TestGather(t *testing.T) {
	steered := "visible/fix steering/fix behaviour/fix"
	for _, tt := range []struct {
		name    string
		final   tare.Tree
		bare    bool
		runs    string
		stopped string
		outcome tare.Outcome
		root    string
		reason  string // part of the reason of the root, or of the regression gate
	}{
		{"nothing done", fakeTask().Seed, false, outside, "behaviour", tare.Fail, "behaviour", "requirement 1"},
		{"no test", solved(), false, outside, "", tare.Fail, "regression_test", "no test was added"},
		{"a genuine test", solved("tests/t_new", "x genuine"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_new::x"},
		{"a genuine test beside the visible ones", solved("tests/t_old", "one vacuous\ntwo vacuous\nx genuine"), false, steered + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_old::x"},
		{"a genuine test elsewhere", solved("checks/t_new", "x genuine"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "checks/t_new::x"},
		{"a genuine test among the sources", solved("src/t_new", "x genuine"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "src/t_new::x"},
		{"a vacuous test", solved("tests/t_new", "x vacuous"), false, outside + wave1, "", tare.Fail, "regression_test", "passes on the unfixed seed"},
		{"a red test", solved("tests/t_new", "x red"), false, outside + wave1, "", tare.Fail, "regression_test", "on the agent's own fix"},
		{"a test of the text", solved("tests/t_new", "x text"), false, outside + wave1 + wave2, "", tare.Fail, "regression_test", "fails (Wrong) on reference a"},
		{"a test of the seed's text", solved("tests/t_new", "x seedling"), false, outside + wave1 + wave2 + wave3, "", tare.Fail, "regression_test", "passes on twin ta"},
		{"a helper's test beside one of the text", solved("src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "x helper\ny pedant"), false,
			outside + wave1 + wave2 + wave3 + wave4 + " graft/seed graft/graft graft again" + wave4 + wave5 + wave6, "", tare.Pass, "", "t_new::x"},
		{"a broken test", solved("tests/t_new", "broken"), false, outside, "", tare.Fail, "regression_test", "not readable as tests: tests/t_new"},
		{"a test that is lucky", solved("tests/t_new", "x lucky"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Fail, "regression_test", "fails (Wrong) on reference b when its code is varied and its behaviour kept: its answer follows the code"},
		{"a test that sees the bug in known code alone", solved("tests/t_new", "x blur"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Fail, "regression_test", "passes on the unfixed seed when its code is varied"},
		{"one good test of three", solved("tests/t_new", "x vacuous\ny genuine\nz text"), false, outside + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_new::y"},
		{"a test that hangs on the bug takes no other along", solved("tests/t_new", "a wedge\nx genuine"), false, outside + wave1 + " seed seed" + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_new::x"},
		{"a test that hangs on the bug", solved("tests/t_new", "a wedge"), false, outside + wave1, "", tare.Fail, "regression_test", "hung until its time was up"},
		{"a helper's test", solved("src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "x helper"), false,
			outside + wave1 + wave2 + " graft/seed graft/graft graft again" + wave4 + wave5 + wave6, "", tare.Pass, "", "fails where the bug is put back"},
		{"a test of the helper's use", solved("src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "x spy"), false,
			outside + wave1 + wave2 + " graft/seed graft/graft graft again" + wave4 + wave5, "", tare.Fail, "regression_test", "it asks for this fix, not for the behaviour"},
		{"a helper's test that knows the seed", solved("src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "x blind"), false,
			outside + wave1 + wave2 + " graft/seed graft/graft graft again" + wave4 + wave5 + " lent:twin:ta lent:twin:tb", "", tare.Fail, "regression_test", "and helper lent to it, so it does not follow the bug"},
		{"a helper's test by hunks", solved("src/s", "text fix\nacts right\nhas none\nlast\nhas helper", "tests/t_new", "x helper"), true,
			outside + wave1 + wave2 + " graft/seed graft/graft graft again" + wave4 + wave5 + wave6, "", tare.Pass, "", "fails where the bug is put back"},
		{"a helper's test, and no way back", solved("src/s", "text fix\nhas helper; acts right", "tests/t_new", "x helper"), true,
			outside + wave1 + wave2 + " graft/seed", "", tare.Unverified, "regression_test", "the bug could not be put back beneath it"},
		{"a hook that does nothing", solved("hook", "", "tests/t_new", "x genuine"), false, "visible/fix steering/fix steered/fix behaviour/fix" + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_new::x"},
		{"a visible test weakened", solved("tests/t_old", "one vacuous\ntwo red"), false, steered, "integrity", tare.Fail, "integrity", "visible tests edited"},
		{"the visible tests moved", solved("tests/t_moved", "one vacuous\ntwo vacuous", "tests/t_new", "x genuine").Without("tests/t_old"), false, steered + wave1 + wave2 + wave3 + wave4 + wave7, "", tare.Pass, "", "t_new::x"},
		{"one of the visible tests moved", solved("tests/t_moved", "one vacuous").Without("tests/t_old"), false, steered, "integrity", tare.Fail, "integrity", "tests/t_old::two is passed without and not reported with"},
		{"the visible tests moved and weakened", solved("tests/t_moved", "one vacuous\ntwo red").Without("tests/t_old"), false, steered, "integrity", tare.Fail, "integrity", "visible tests deleted"},
		{"the visible tests moved, and no other", solved("tests/t_moved", "one vacuous\ntwo vacuous").Without("tests/t_old"), false, steered, "", tare.Fail, "regression_test", "no test was added"},
		{"a visible test deleted", solved().Without("tests/t_old"), false, steered, "integrity", tare.Fail, "integrity", "visible tests deleted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{bare: tt.bare}
			ev, err := gather(f, tt.final, 2)
			if err != nil || len(ev.Problems) > 0 {
				t.Fatalf("%v, %v", err, ev.Problems)
			}
			if got := worldsOf(ev); got != tt.runs || ev.Stopped != tt.stopped {
				t.Errorf("runs %s, stopped %q\nwant %s, %q", got, ev.Stopped, tt.runs, tt.stopped)
			}
			v := judge(ev)
			gate := v.RootGate
			if gate == "" {
				gate = tare.GateRegressionTest
			}
			if g, _ := v.Gate(gate); v.Outcome != tt.outcome || v.RootGate != tt.root || !strings.Contains(g.Reason, tt.reason) {
				t.Errorf("%s by %s: %s", v.Outcome, v.RootGate, g.Reason)
			}
		})
	}
}

// TestVisibleTestsFail stops where the visible tests fail, though the behaviour is right.
func TestVisibleTestsFail(t *testing.T) {
	for name, spoil := range map[string]func(*tare.Run){
		"failed":   func(r *tare.Run) { r.Tests[0].Outcome = tare.TestFailed },
		"missing":  func(r *tare.Run) { r.Tests = r.Tests[1:] },
		"twice":    func(r *tare.Run) { r.Tests = append(r.Tests, r.Tests[0]) },
		"cut":      func(r *tare.Run) { r.Complete = false },
		"sentinel": func(r *tare.Run) { r.Sentinels[0].Got = tare.TestFailed },
	} {
		f := &fake{forge: func(call string, r tare.Run) tare.Run {
			if strings.HasSuffix(call, ":tests/t_old::one,tests/t_old::two") {
				spoil(&r)
			}
			return r
		}}
		ev, err := gather(f, solved("tests/t_new", "x genuine"), 2)
		if got := worldsOf(ev); err != nil || got != outside || ev.Stopped != tare.GateVisibleTests {
			t.Errorf("%s: %s, stopped %q, %v", name, got, ev.Stopped, err)
		}
		if v := judge(ev); v.Outcome != tare.Fail || *v.Reward != 0 {
			t.Errorf("%s: %s by %s", name, v.Outcome, v.RootGate)
		}
	}
}

// TestOrderIsNotSchedule lets runs end in another order than they began, and makes one at a time and many.
func TestOrderIsNotSchedule(t *testing.T) {
	final := solved("hook", "", "src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "w wedge\nx genuine\ny helper\nz text")
	want, err := gather(&fake{}, final, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{0, 2, 8} {
		probed := make(chan struct{})
		f := &fake{
			before: func(call string) {
				if strings.HasSuffix(call, ":tests/t_old::one,tests/t_old::two") && !strings.Contains(call, "steered") {
					select { // the visible tests end last of the first wave
					case <-probed:
					case <-time.After(time.Minute):
						t.Error("the probe was never asked")
					}
				}
			},
			after: func(call string) {
				if strings.HasPrefix(call, "probe:text fix") {
					select {
					case <-probed:
					default:
						close(probed)
					}
				}
			},
		}
		got, err := gather(f, final, jobs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d jobs (-one +many):\n%s", jobs, diff)
		}
	}
}

// TestJobsAreBounded holds every call until no more can begin.
func TestJobsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		release := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			parallel(2, 5, func(int) {
				begun.Add(1)
				<-release
			})
		}()
		for _, want := range []int32{2, 3, 4, 5, 5} {
			synctest.Wait()
			if n := begun.Load(); n != want {
				t.Errorf("%d have begun, want %d", n, want)
			}
			release <- struct{}{}
		}
		<-done
	})
}

// TestAgainIsElsewhere: the second run on the fix is in another order, in a directory of another name.
func TestAgainIsElsewhere(t *testing.T) {
	f := &fake{}
	if _, err := gather(f, solved("tests/t_new", "x genuine"), 2); err != nil {
		t.Fatal(err)
	}
	if want := "run:text fix+acts right+has none+last:reversed in copy:tests/t_new::x"; !slices.Contains(f.calls, want) {
		t.Errorf("%s is not among %q", want, f.calls)
	}
}

// TestEveryFailureIsAProblem lets each call of a long gathering fail in turn: none may go by in silence.
func TestEveryFailureIsAProblem(t *testing.T) {
	for name, final := range map[string]tare.Tree{
		"genuine": solved("hook", "", "tests/t_new", "x genuine"),
		"helper":  solved("src/s", "text fix\nacts right\nhas helper\nlast", "tests/t_new", "w wedge\nx helper"),
	} {
		whole := &fake{}
		all, err := gather(whole, final, 1)
		if err != nil {
			t.Fatal(err)
		}
		if v := judge(all); v.Outcome != tare.Pass {
			t.Fatalf("%s: %+v", name, v)
		}
		for _, call := range slices.Compact(clean(whole.calls)) {
			f := &fake{fail: call}
			ev, err := gather(f, final, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(ev.Problems) == 0 || !strings.Contains(ev.Problems[0].Error, "on fire") || ev.Problems[0].Where == "" {
				t.Errorf("%s: %s failed: problems %v", name, call, ev.Problems)
			}
			if i := slices.Index(whole.calls, call); strings.HasPrefix(call, "probe:") && i < 4 && slices.Contains(f.calls, "tests:seed") {
				t.Errorf("%s: %s failed, and more was gathered: %q", name, call, f.calls)
			}
			if len(ev.Runs) >= len(all.Runs) {
				t.Errorf("%s: %s failed, and %d runs of %d are there", name, call, len(ev.Runs), len(all.Runs))
			}
			if v := judge(ev); v.Outcome != tare.Unverified || v.Cause != tare.CauseInfrastructure {
				t.Errorf("%s: %s failed: verdict %s, cause %s", name, call, v.Outcome, v.Cause)
			}
		}
	}
}

// TestUnmadeWorlds: what a tree does not lend itself to is no failure of ours, and no PASS.
func TestUnmadeWorlds(t *testing.T) {
	helper := solved("src/s", "text fix\nacts right\nhas none\nlast\nhas helper", "tests/t_new", "x helper")
	for _, tt := range []struct {
		call  string
		final tare.Tree
		want  tare.Outcome
	}{
		{"poison", solved("tests/t_new", "x genuine"), tare.Unverified},
		{"vary:text fix/acts right", solved("tests/t_new", "x genuine"), tare.Unverified},
		{"vary:text b/acts right", solved("tests/t_new", "x genuine"), tare.Unverified},
		{"cross:text seed/acts right", solved("tests/t_new", "x genuine\ny genuine"), tare.Unverified},
		{"graft", helper, tare.Pass}, // hunks are left
		{"lend:text a", helper, tare.Unverified},
		{"lend:text tb", helper, tare.Unverified},
	} {
		ev, err := gather(&fake{not: map[string]string{tt.call: "it is too odd"}}, tt.final, 2)
		if err != nil || len(ev.Problems) > 0 {
			t.Fatal(err, ev.Problems)
		}
		v := judge(ev)
		if v.Outcome != tt.want || tt.want == tare.Unverified && (v.RootGate != tare.GateRegressionTest || !strings.Contains(v.Unresolved[0], "it is too odd")) {
			t.Errorf("%s: %s by %s, %q", tt.call, v.Outcome, v.RootGate, v.Unresolved)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{before: func(call string) {
		if call == "vary:text fix/acts right" {
			cancel()
		}
	}}
	ev, err := Gather(ctx, Request{Task: fakeTask(), Final: solved("tests/t_new", "x genuine"), Sandbox: box{}, Runner: f})
	if !errors.Is(err, context.Canceled) || len(ev.Runs) > 0 {
		t.Errorf("got %v, %v", ev, err)
	}
	f = &fake{forge: func(_ string, r tare.Run) tare.Run { r.Ended = "cancelled"; return r }}
	if ev, err := gather(f, solved(), 2); err != nil || len(ev.Problems) != 2 {
		t.Errorf("runs that nobody cancelled: %v, %v", ev.Problems, err)
	}
}

// TestTrees says which of the agent's files are in which tree.
func TestTrees(t *testing.T) {
	final := solved(
		"tests/t_new", "x genuine", "tests/fixture", "new", "tests/data", "changed", "tests/t_old", "one vacuous\ntwo vacuous\n",
		"src/hook", "", "src/help.beside", "", "tests/hook", "", "config", "for the fix", ".git/config", "secret").Without("readme", "tests/extra")
	f := &fake{}
	ev, err := gather(f, final, 2)
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		"run:text fix+acts right+has none+last:tests/t_old::one,tests/t_old::two":         "config src/s=fix tests/data=old tests/extra tests/t_old=seed",
		"probe:text fix+acts right+has none+last":                                         "config src/s=fix tests/data=old tests/extra tests/t_old=seed",
		"run:text fix+acts right+has none+last:steered:tests/t_old::one,tests/t_old::two": "config src/help.beside src/hook src/s=fix tests/data=new tests/fixture tests/hook tests/t_new tests/t_old=agent",
		"run:text fix+acts right+has none+last:tests/t_new::x":                            "config src/help.beside src/s=fix tests/data=new tests/extra tests/fixture tests/hook tests/t_new tests/t_old=agent",
		"run:text seed+acts wrong+has none+last:tests/t_new::x":                           "config src/help.beside src/s=seed tests/data=new tests/extra tests/fixture tests/hook tests/t_new tests/t_old=agent",
		"run:text a+acts right+has none+last:tests/t_new::x":                              "config src/help.beside src/s=other tests/data=new tests/extra tests/fixture tests/hook tests/t_new tests/t_old=agent",
		"run:text tb+acts wrong+has none+last:tests/t_new::x":                             "config src/help.beside src/s=other tests/data=new tests/extra tests/fixture tests/hook tests/t_new tests/t_old=agent",
	} {
		tree, ok := f.trees[call]
		if got := contents(tree); !ok || got != want {
			t.Errorf("%s: %s\nwant %s", call, got, want)
		}
	}
	var kept []string
	for _, s := range ev.Steering {
		kept = append(kept, s.Path+": "+s.Why)
	}
	want := []string{"src/hook: a hook", "tests/data: a file beside the visible tests, modified", "tests/extra: a file beside the visible tests, deleted", "tests/hook: a hook", "tests/t_old: visible tests edited"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(ev.Changes, func(c tare.Change) bool { return strings.HasPrefix(c.Path, ".git") }) {
		t.Errorf("changes of .git are recorded: %v", ev.Changes)
	}
	if len(ev.Own) != 1 || ev.Own[0].Kind != tare.Added {
		t.Errorf("own tests: %+v", ev.Own)
	}
}

// contents names the files of a tree, and for those that two sides have, whose they are.
func contents(tree tare.Tree) string {
	var out []string
	for _, f := range tree {
		s := f.Path
		switch f.Path {
		case "src/s":
			s += map[string]string{seedSource: "=seed", fixedSource: "=fix"}[string(f.Data)]
			if s == "src/s" {
				s += "=other"
			}
		case "tests/data":
			s += map[string]string{"old": "=old", "changed": "=new"}[string(f.Data)]
		case "tests/t_old":
			s += map[string]string{"one vacuous\ntwo vacuous": "=seed", "one vacuous\ntwo vacuous\n": "=agent"}[string(f.Data)]
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestPathOfATestTaken: a directory in the place of a visible test does not keep the seed's out, among the sources either.
func TestPathOfATestTaken(t *testing.T) {
	task := &tare.Task{Sources: []string{"pkg"}, Visible: []string{"pkg/t_a::x"}, Seed: tree("pkg/t_a", "x genuine", "pkg/s", "")}
	final := task.Seed.Without("pkg/t_a").Overlay(tree("pkg/t_a/keep", "here", "pkg/t_b/keep", "there"))
	l := newLayout(task, final, &fake{})
	if got := contents(l.graded()); got != "pkg/s pkg/t_a pkg/t_b/keep" {
		t.Error(got)
	}
	if len(l.steering) != 1 || l.steering[0].Why != "visible tests deleted" {
		t.Error(l.steering)
	}
}

func TestTestDirs(t *testing.T) {
	for _, tt := range []struct {
		sources []string
		visible string
		want    string
	}{
		{[]string{"src"}, "tests/unit/t_a::x", "tests"},
		{[]string{"pkg"}, "pkg/tests/t_a::x", "pkg/tests/t_a"},
		{[]string{"lib/code"}, "lib/tests/t_a::x", "lib/tests"},
		{[]string{"."}, "t_a::x", "t_a"},
		{[]string{"s"}, "t_a::x", "t_a"},
	} {
		file, _, _ := strings.Cut(tt.visible, "::")
		task := &tare.Task{Sources: tt.sources, Visible: []string{tt.visible}, Seed: tree(file, "")}
		l := newLayout(task, task.Seed, &fake{})
		if len(l.testDirs) != 1 || l.testDirs[0] != tt.want {
			t.Errorf("sources %v, test %s: %v", tt.sources, tt.visible, l.testDirs)
		}
	}
}
