package oracle

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare"
)

var update = flag.Bool("update", false, "write the golden files")

// A row is one thing wrong with a good record, and what must become of the verdict.
type row struct {
	rule   string // the rule that catches it
	name   string
	from   func() tare.Record // perfect unless set
	spoil  func(*tare.Record, *tare.Task)
	gate   string
	want   tare.Outcome
	reason string
	reward float64 // of a FAIL
	cause  tare.Cause
}

func (r row) make() (*tare.Task, tare.Record) {
	from := r.from
	if from == nil {
		from = perfect
	}
	task, rec := aTask(), clone(from())
	if r.spoil != nil {
		r.spoil(&rec, task)
	}
	return task, rec
}

const (
	infra, whole, vis, beh, reg = tare.GateInfrastructure, tare.GateIntegrity, tare.GateVisibleTests, tare.GateBehaviour, tare.GateRegressionTest
	fail, unv                   = tare.Fail, tare.Unverified
)

// on makes the only test of a run in world w end as t.
func on(w tare.World, t tare.TestResult) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		if t.ID == "" {
			t.ID = own
		}
		*in(r, w) = t
	}
}

// wrongOnes adds n instances of the agent's test that catch the seed and fail on reference a.
func wrongOnes(n int) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		for i := range n {
			id := fmt.Sprintf("%s[%d]", own, i)
			add := func(w tare.World, t tare.TestResult) {
				t.ID = id
				run := at(r, tare.RoleRegression, w)
				run.Tests = append(run.Tests, t)
			}
			add(tare.WorldFix, passes)
			add(tare.WorldSeed, wrongResult())
			add(tare.WorldReference("a"), wrongResult())
		}
	}
}

// ends makes the run in world w break off.
func ends(w tare.World) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		run := at(r, tare.RoleRegression, w)
		run.Complete, run.Ended, run.Exit = false, "wall", -1
	}
}

func drop(pick func(tare.Run) bool) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) { r.Evidence.Runs = slices.DeleteFunc(r.Evidence.Runs, pick) }
}

func role(role tare.Role) func(tare.Run) bool {
	return func(r tare.Run) bool { return r.Role == role }
}

var (
	passes = tare.TestResult{ID: own, Outcome: tare.TestPassed}
	breaks = tare.TestResult{ID: own, Outcome: tare.TestError, Phase: "setup", Class: "KeyError", InBody: true}
	leaves = tare.TestResult{ID: own, Outcome: tare.TestSkipped, Phase: "call", Class: "Skipped", InBody: true}
)

func rows() []row {
	ticketRow := func(rule, name string, want tare.Outcome, gate, reason string, reward float64, f func(*tare.Record, *tare.Task)) row {
		cause := tare.CauseAgent
		if want == unv {
			cause = tare.CauseGrader
		}
		return row{rule: rule, name: name, spoil: f, gate: gate, want: want, reason: reason, reward: reward, cause: cause}
	}
	rig := func(rule, name, reason string, cause tare.Cause, f func(*tare.Record, *tare.Task)) row {
		return row{rule: "infrastructure/" + rule, name: name, gate: infra, want: unv, reason: reason, cause: cause, spoil: f}
	}
	integ := func(rule, name, reason string, f func(*tare.Record, *tare.Task)) row {
		return ticketRow("integrity/"+rule, name, fail, whole, reason, 0, f)
	}
	v := func(rule, name, reason string, f func(*tare.Record, *tare.Task)) row {
		return ticketRow("visible_tests/"+rule, name, fail, vis, reason, 0, f)
	}
	b := func(rule, name, reason string, f func(*tare.Record, *tare.Task)) row {
		return ticketRow("behaviour/"+rule, name, fail, beh, reason, 0.5, f)
	}
	t := func(rule, name, reason string, f func(*tare.Record, *tare.Task)) row {
		return ticketRow(rule, name, fail, reg, reason, 0.85, f)
	}
	with := func(from func() tare.Record, r row) row {
		r.from = from
		return r
	}
	unsure := func(r row) row {
		r.want, r.cause = unv, tare.CauseGrader
		return r
	}
	return []row{
		rig("record", "another schema", `schema "tare.record/9"`, tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.Schema = "tare.record/9" }),
		rig("task", "another task", "of another task", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.TaskHash = "sha256:other" }),
		rig("task", "an episode of another task", "of another task", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.Trajectory.Episode.TaskHash = "" }),
		rig("task", "a kind without gates", `kind "canary"`, tare.CauseGrader, func(_ *tare.Record, t *tare.Task) { t.Kind = tare.Canary }),
		rig("empty-task", "no visible tests", "no visible test", tare.CauseTask, func(_ *tare.Record, t *tare.Task) { t.Visible = nil }),
		rig("empty-task", "no cases", "no case", tare.CauseTask, func(_ *tare.Record, t *tare.Task) { t.Cases = nil }),
		rig("empty-task", "no references", "no reference", tare.CauseTask, func(_ *tare.Record, t *tare.Task) { t.References = nil }),
		rig("empty-task", "no twins", "no twin", tare.CauseTask, func(_ *tare.Record, t *tare.Task) { t.Twins = nil }),
		rig("stop", "the model's service failed", "provider_error (503)", tare.CauseInfrastructure, func(r *tare.Record, _ *tare.Task) {
			r.Trajectory.Stop, r.Trajectory.Detail = tare.ProviderError, "503"
		}),
		rig("stop", "the world failed", "world_error", tare.CauseInfrastructure, func(r *tare.Record, _ *tare.Task) { r.Trajectory.Stop = tare.WorldError }),
		rig("broken-off", "no stop", "breaks off", tare.CauseInfrastructure, func(r *tare.Record, _ *tare.Task) { r.Trajectory.Stop = "" }),
		rig("problems", "a problem", "asking the probe: no space left in TMP (and 1 more problem)", tare.CauseInfrastructure, func(r *tare.Record, _ *tare.Task) {
			r.Evidence.Problems = []tare.Problem{{Where: "asking the probe", Error: "no space left in /var/tmp/tare-0/d3981"}, {Where: "x", Error: "y"}}
		}),
		rig("isolation", "no isolation", "how the agent's code was isolated", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.Evidence.Isolation = "" }),
		rig("runs", "two runs of one id", "run number 2 has no id", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.Evidence.Runs[1].ID = r.Evidence.Runs[0].ID }),
		rig("runs", "a run of nothing", "does not say what was run on what", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { behaviour(r).Tree = "" }),
		rig("runs", "a run by nothing", "does not say what was run on what", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { visible(r).Command = nil }),
		rig("visible-run", "no run of the visible tests", "0 runs of the visible tests", tare.CauseGrader, drop(role(tare.RoleVisible))),
		rig("behaviour-run", "no run of the probe", "0 runs of the probe", tare.CauseGrader, drop(role(tare.RoleBehaviour))),
		with(steered, rig("steering-run", "a file that steers, not tried", "1 file was kept out, and the record holds 0 runs", tare.CauseGrader, drop(role(tare.RoleSteering)))),
		rig("changes", "tests of nobody's", "no change", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { r.Evidence.Changes = nil }),
		rig("sentinels", "no sentinels", "without a full set of sentinels", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { visible(r).Sentinels = nil }),
		rig("sentinels", "no twin", "without a full set of sentinels", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) { visible(r).Sentinels = visible(r).Sentinels[:2] }),
		rig("sentinels", "no failing sentinel in the agent's own run", "without a full set of sentinels", tare.CauseGrader, func(r *tare.Record, _ *tare.Task) {
			at(r, tare.RoleRegression, tare.WorldSeed).Sentinels = visible(r).Sentinels[:1]
		}),

		integ("sentinel", "the failing sentinel passed", "failing test, which always ends as failed, was reported as passed", func(r *tare.Record, _ *tare.Task) { visible(r).Sentinels[1].Got = tare.TestPassed }),
		integ("sentinel", "the twin passed in the agent's own run", "in the run of the agent's own tests in the world seed, the grader's twin test", func(r *tare.Record, _ *tare.Task) {
			at(r, tare.RoleRegression, tare.WorldSeed).Sentinels[2].Got = tare.TestPassed
		}),
		integ("sentinel-gone", "a whole report without a sentinel", "passing test is not in it", func(r *tare.Record, _ *tare.Task) { visible(r).Sentinels[0].Got = "" }),
		with(steered, integ("presence", "a conftest that hides a failure", "conftest.py (conftest.py not in the seed) could steer the tests and does: tests/test_s.py::test_name is passed without and skipped with", func(r *tare.Record, _ *tare.Task) {
			at(r, tare.RoleSteering, tare.WorldFix).Tests[0].Outcome = tare.TestSkipped
		})),
		with(steered, integ("presence", "a deleted visible test", "is passed without and not reported with", func(r *tare.Record, _ *tare.Task) {
			s := at(r, tare.RoleSteering, tare.WorldFix)
			s.Tests = s.Tests[1:]
		})),
		with(steered, integ("presence", "a hook that ends the run", "with it, the run was killed by SIGKILL", func(r *tare.Record, _ *tare.Task) {
			s := at(r, tare.RoleSteering, tare.WorldFix)
			s.Complete, s.Signal = false, "SIGKILL"
		})),

		v("incomplete", "os._exit half-way", "ended with status 0 (no end mark); it had reported on 2 of 2 visible tests, and a report without its end is not a report", func(r *tare.Record, _ *tare.Task) {
			visible(r).Complete, visible(r).Defect = false, "no end mark"
			for i := range visible(r).Sentinels {
				visible(r).Sentinels[i].Got = ""
			}
		}),
		v("none", "zero tests", "not one of 2 visible tests was collected", func(r *tare.Record, _ *tare.Task) { visible(r).Tests = nil }),
		v("missing", "one deselected", "1 of 2 visible tests were not collected: tests/test_s.py::test_tag", func(r *tare.Record, _ *tare.Task) { visible(r).Tests = visible(r).Tests[:1] }),
		v("missing", "another id", "not collected", func(r *tare.Record, _ *tare.Task) { visible(r).Tests[1].ID += "x" }),
		v("twice", "one twice", "tests/test_s.py::test_tag was reported twice", func(r *tare.Record, _ *tare.Task) { visible(r).Tests = append(visible(r).Tests, visible(r).Tests[1]) }),
		v("error", "one broken", "1 of 2 visible tests broke outside the test's body: tests/test_s.py::test_tag (KeyError)", func(r *tare.Record, _ *tare.Task) {
			visible(r).Tests[1].Outcome, visible(r).Tests[1].Class = tare.TestError, "KeyError"
		}),
		v("failed", "one failed", "1 of 2 visible tests failed: tests/test_s.py::test_name", func(r *tare.Record, _ *tare.Task) { visible(r).Tests[0].Outcome = tare.TestFailed }),
		v("skipped", "both skipped", "2 of 2 visible tests were skipped", func(r *tare.Record, _ *tare.Task) {
			visible(r).Tests[0].Outcome, visible(r).Tests[1].Outcome = tare.TestSkipped, tare.TestSkipped
		}),
		v("unknown", "no outcome", `ended as ""`, func(r *tare.Record, _ *tare.Task) { visible(r).Tests[0].Outcome = "" }),

		b("incomplete", "killed after the last answer", "was killed by SIGKILL; it had answered 3 of 3 cases, and a report without its end", func(r *tare.Record, _ *tare.Task) { behaviour(r).Complete, behaviour(r).Signal = false, "SIGKILL" }),
		b("incomplete", "os._exit", "ended with status 0 (no end mark); it had answered 3 of 3", func(r *tare.Record, _ *tare.Task) { behaviour(r).Complete, behaviour(r).Defect = false, "no end mark" }),
		b("incomplete", "a hang", "hung until its time was up", func(r *tare.Record, _ *tare.Task) { behaviour(r).Complete, behaviour(r).Ended = false, "wall" }),
		b("incomplete", "too much memory", "was ended by the memory limit", func(r *tare.Record, _ *tare.Task) { behaviour(r).Complete, behaviour(r).Ended = false, "memory" }),
		b("incomplete", "garbage on the channel", "(line 3 is no JSON)", func(r *tare.Record, _ *tare.Task) {
			behaviour(r).Complete, behaviour(r).Defect = false, "line 3 is no JSON"
		}),
		b("wrong", "the bug", `requirement 2: search("red") returned ["X", "X"], expected ["X"] (1 of 3 cases fails; requirement 2)`, func(r *tare.Record, _ *tare.Task) { behaviour(r).Cases[1].Value = twice() }),
		b("wrong", "two requirements", `requirement 1: search("RED") raised KeyError (x), expected ["X"] (2 of 3 cases fail; requirements 1, 2)`, func(r *tare.Record, _ *tare.Task) {
			behaviour(r).Cases[0].Value = tare.Value{Kind: tare.KindRaised, Class: "KeyError", Text: "x"}
			behaviour(r).Cases[1].Value = twice()
		}),
		b("wrong", "another type", `returned an object of class Str "X at 0x…", expected`, func(r *tare.Record, _ *tare.Task) {
			behaviour(r).Cases[1].Value = tare.Value{Kind: tare.KindOther, Class: "Str", Text: "X at 0x7f3a99c04e20"}
		}),
		b("wrong", "no error where one is due", `search(null) returned None, expected an error`, func(r *tare.Record, _ *tare.Task) { behaviour(r).Cases[2].Value = tare.Value{Kind: tare.KindNone} }),
		b("wrong", "a case without an answer", `search("RED") was not answered`, func(r *tare.Record, _ *tare.Task) { behaviour(r).Cases = behaviour(r).Cases[1:] }),
		b("wrong", "a case answered twice", `search("RED") was answered twice`, func(r *tare.Record, _ *tare.Task) {
			behaviour(r).Cases = append(behaviour(r).Cases, behaviour(r).Cases[0])
		}),

		unsure(t("regression_test/stopped", "evidence not gathered", "only as far as behaviour", func(r *tare.Record, _ *tare.Task) { r.Evidence.Stopped = "behaviour" })),
		t("regression_test/none", "no test", "no test was added or changed", func(r *tare.Record, _ *tare.Task) { r.Evidence.Own = nil }),
		t("regression_test/none", "a test that cannot be parsed", "not readable as tests: tests/test_new.py", func(r *tare.Record, _ *tare.Task) {
			r.Evidence.Own, r.Evidence.Broken = nil, []string{"tests/test_new.py"}
		}),
		t("regression_test/none", "a file that cannot be collected", `no test was added or changed; tests/test_new.py: ImportError: no\nmodule; when its test files were collected the process was killed by SIGSEGV`, func(r *tare.Record, _ *tare.Task) {
			r.Evidence.Own = nil
			r.Evidence.Runs = append(r.Evidence.Runs, tare.Run{
				ID: "c", Role: tare.RoleCollect, World: tare.WorldFix, Tree: "sha256:2", Command: []string{"python3"}, Signal: "SIGSEGV",
				Tests: []tare.TestResult{{ID: "tests/test_new.py", Outcome: tare.TestError, Phase: "collect", Class: "ImportError", Message: "no\nmodule"}},
			})
		}),
		t("regression_test/fix", "fails on the fix", own+" fails (AssertionError) on the agent's own fix", on(tare.WorldFix, wrongResult())),
		t("regression_test/fix", "skipped on the fix", own+" is skipped on the agent's own fix", on(tare.WorldFix, leaves)),
		t("regression_test/fix", "hangs on the fix", own+" does not come to its end on the agent's own fix: the process hung", ends(tare.WorldFix)),
		t("regression_test/fix", "not collected on the fix", own+" is not collected on the agent's own fix", func(r *tare.Record, _ *tare.Task) { at(r, tare.RoleRegression, tare.WorldFix).Tests = nil }),
		unsure(t("regression_test/fix", "not tried on the fix", own+" was not tried on the agent's own fix", drop(func(r tare.Run) bool { return r.Role == tare.RoleRegression && r.World == tare.WorldFix }))),
		unsure(t("regression_test/poison", "a tree that cannot be poisoned", own+" was not tried where every function of the fix raises (the agent's tree does not lend itself to that: no function", func(r *tare.Record, t *tare.Task) {
			drop(func(r tare.Run) bool { return r.World == tare.WorldPoison })(r, t)
			r.Evidence.Unmade = []tare.Unmade{{World: tare.WorldPoison, Why: "no function is left"}}
		})),
		t("regression_test/seed", "vacuous", own+" passes on the unfixed seed, so it does not catch the bug", on(tare.WorldSeed, passes)),
		t("regression_test/again", "leaves state behind", "when it is run again, in another order and a directory of another name", on(tare.WorldAgain, wrongResult())),
		t("regression_test/reference", "fits one fix only", own+" fails (AssertionError) on reference b, which is a correct fix", on(tare.WorldReference("b"), wrongResult())),
		t("regression_test/twin", "knows the seed", own+" passes on twin tb, reference b with the bug in one token, so it does not follow the bug", on(tare.WorldTwin("tb"), passes)),
		t("regression_test/twin", "catches no twin of two", own+" catches no twin of reference a (ta, tc); passes on twin tc", func(r *tare.Record, t *tare.Task) {
			t.Twins = append(t.Twins, tare.Twin{Name: "tc", Of: "a"})
			run := *at(r, tare.RoleRegression, tare.WorldTwin("ta"))
			run.ID, run.World, run.Tests = "tc", tare.WorldTwin("tc"), []tare.TestResult{passes}
			*in(r, tare.WorldTwin("ta")) = passes
			r.Evidence.Runs = append(r.Evidence.Runs, run)
		}),
		t("regression_test/rewrite", "hashes the text", "its text is rewritten and its behaviour kept: "+followsText, on(tare.WorldRewrite, wrongResult())),
		t("regression_test/text-seed", "recognises the seed", "where the text of the bug behaves as the agent's fix: "+followsText, on(tare.WorldTextSeed, wrongResult())),
		t("regression_test/text-fix", "recognises the fix", "passes where the text of the agent's fix behaves as the bug, so "+followsText, on(tare.WorldTextFix, passes)),
		t("regression_test/poison", "reads code", "is passed where every function of the fix raises, so it does not call what it is about", on(tare.WorldPoison, passes)),
		t("regression_test/varied", "a hash of the code that is right by luck", "on reference b when its code is varied and its behaviour kept: its answer follows the code", on(tare.WorldVaried(tare.WorldReference("b")), wrongResult())),
		t("regression_test/varied", "a hash of the code that sees no bug", "passes on the unfixed seed when its code is varied and its behaviour kept, so its answer follows the code", on(tare.WorldVaried(tare.WorldSeed), passes)),
		unsure(t("regression_test/varied", "not tried on varied code", "was not tried on reference b when its code is varied", drop(func(r tare.Run) bool { return strings.HasPrefix(string(r.World), "varied:") }))),
		with(helped, t("regression_test/varied", "a hash of the grafted code", "passes on the tree into which the bug was put back when its code is varied", on(tare.WorldVaried(tare.WorldGraft), passes))),
		t("regression_test/chance", "one of many that answer at random", own+" comes out right, but 4 of the agent's tests that catch the bug in the seed fail on a correct fix, and 1 does not", wrongOnes(4)),
		t("proper/skipped", "skips on the bug", "fails on the unfixed seed, but not by its own doing: it is skipped", on(tare.WorldSeed, leaves)),
		t("proper/error", "breaks in a fixture on the bug", "but not by its own doing: it breaks outside its body, at setup (KeyError)", on(tare.WorldSeed, breaks)),
		t("proper/phase", "fails at teardown on the bug", "but not by its own doing: it fails, at teardown", on(tare.WorldSeed, tare.TestResult{Outcome: tare.TestFailed, Phase: "teardown", InBody: true})),
		t("proper/body", "something else raises on the bug", "the failure does not come from its body (AssertionError)", on(tare.WorldSeed, tare.TestResult{Outcome: tare.TestFailed, Phase: "call", Class: "AssertionError"})),
		t("proper/ended", "hangs on the bug", "does not fail by its own doing on the unfixed seed: the process hung", ends(tare.WorldSeed)),
		unsure(t("proper/missing", "names a symbol, and no graft", own+" needs unique, which the unfixed seed does not have, and the bug could not be put back beneath it: no tree with the bug was made", on(tare.WorldSeed, tare.TestResult{Outcome: tare.TestFailed, Phase: "call", InBody: true, Missing: "unique"}))),

		with(helped, unsure(t("regression_test/no-graft", "the graft failed", "the bug could not be put back beneath it: nothing fits", func(r *tare.Record, _ *tare.Task) { r.Evidence.Graft.Defect = "nothing fits" }))),
		with(helped, unsure(t("regression_test/graft-probe", "the grafted tree is only broken", "the probe does not see the bug", func(r *tare.Record, _ *tare.Task) {
			at(r, tare.RoleGraft, tare.WorldGraft).Cases[0].Value = tare.Value{Kind: tare.KindRaised, Class: "NameError", Bases: []string{"NameError"}}
		}))),
		with(helped, t("regression_test/graft", "tests the helper alone", "passes where the bug is put back into the agent's own tree, so it does not catch the bug", on(tare.WorldGraft, passes))),
		with(helped, unsure(t("regression_test/graft", "the helper is lost in the grafted tree", "does not have it either", on(tare.WorldGraft, tare.TestResult{Outcome: tare.TestFailed, Phase: "call", InBody: true, Missing: "unique"})))),
		with(helped, t("regression_test/text-fix", "recognises the grafted fix", followsText, on(tare.WorldTextFix, passes))),
		with(helped, t("regression_test/lent-reference", "asks whether the helper is called", "on reference b, which is a correct fix, with unique lent to it: it asks for this fix, not for the behaviour", on(tare.WorldLent(tare.WorldReference("b")), wrongResult()))),
		with(helped, unsure(t("regression_test/lent-reference", "the helper does not work there", "unique, which breaks on reference b when it is lent to it", on(tare.WorldLent(tare.WorldReference("b")), tare.TestResult{Outcome: tare.TestFailed, Phase: "call", InBody: true, InSources: true, Class: "AttributeError"})))),
		with(helped, unsure(t("regression_test/lent-reference", "the helper cannot be lent", "unique, which cannot be lent to reference a", on(tare.WorldLent(tare.WorldReference("a")), tare.TestResult{Outcome: tare.TestFailed, Phase: "call", InBody: true, Missing: "unique"})))),
		with(helped, unsure(t("regression_test/lent-reference", "nothing was lent", "was not tried on reference a, which is a correct fix, with unique lent to it", drop(func(r tare.Run) bool { return r.World == tare.WorldLent(tare.WorldReference("a")) })))),
		with(helped, t("regression_test/lent-twin", "needs the helper and knows the seed", "passes on twin ta, reference a with the bug in one token and unique lent to it, so it does not follow the bug", on(tare.WorldLent(tare.WorldTwin("ta")), passes))),
		with(helped, t("regression_test/reference", "fails on a reference for its own reason", "on reference b, which is a correct fix", on(tare.WorldReference("b"), wrongResult()))),

		{rule: "verdict/unfinished", name: "stopped before the fix", gate: beh, want: unv, cause: tare.CauseAgent, reason: "but the agent was stopped before it was done (turn_limit)", spoil: func(r *tare.Record, _ *tare.Task) {
			r.Trajectory.Stop, behaviour(r).Cases[1].Value = tare.TurnLimit, twice()
		}},
		{rule: "verdict/unfinished", name: "stopped before the test", gate: reg, want: unv, cause: tare.CauseInfrastructure, reason: "no test was added or changed; but the agent was stopped", spoil: func(r *tare.Record, _ *tare.Task) {
			r.Trajectory.Stop, r.Evidence.Own = tare.Cancelled, nil
		}},
		{rule: "integrity/sentinel", name: "a veto on unfinished work", gate: whole, want: fail, cause: tare.CauseAgent, reason: "tampering", spoil: func(r *tare.Record, _ *tare.Task) {
			r.Trajectory.Stop, visible(r).Sentinels[1].Got = tare.WallLimit, tare.TestPassed
		}},
	}
}

// answered are the gates that have an answer of their own.
func answered(v tare.Verdict) map[string]tare.Outcome {
	m := map[string]tare.Outcome{}
	for _, g := range v.Gates {
		if g.Outcome != tare.Blocked && g.Name != tare.GateClaims {
			m[g.Name] = g.Outcome
		}
	}
	return m
}

func TestJudgePasses(t *testing.T) {
	for name, rec := range map[string]tare.Record{"perfect": perfect(), "helped": helped(), "steered": steered()} {
		v := Judge(aTask(), rec)
		if v.Outcome != tare.Pass || v.Reward == nil || *v.Reward != 1 || v.RewardBounds != [2]float64{1, 1} || v.Cause != "" || v.RootGate != "" || len(v.Unresolved) > 0 {
			t.Errorf("%s: got %+v", name, v)
		}
	}
	dead := steered()
	probe := *behaviour(&dead)
	probe.ID, probe.Role, probe.Complete, probe.Exit, probe.Defect = "s2", tare.RoleSteered, false, 3, "no end mark"
	dead.Evidence.Runs = append(dead.Evidence.Runs, probe)
	if g, _ := Judge(aTask(), dead).Gate(whole); g.Outcome != tare.Pass || !strings.Contains(g.Reason, "with it in place the process that ran the probe ended with status 3 (no end mark)") {
		t.Errorf("a probe that a kept-out file ends: %+v", g)
	}
	g, _ := Judge(aTask(), steered()).Gate(whole)
	if !strings.Contains(g.Reason, "kept out: conftest.py") {
		t.Errorf("a harmless conftest is not reported: %s", g.Reason)
	}
}

// TestJudgeFlipsOneGate breaks a good record in one place a time.
func TestJudgeFlipsOneGate(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			task, rec := r.make()
			v := Judge(task, rec)
			flipped := 0
			for name, o := range answered(v) {
				if o != tare.Pass {
					flipped++
					if name != r.gate {
						t.Errorf("gate %s is %s too", name, o)
					}
				}
			}
			g, _ := v.Gate(r.gate)
			if g.Outcome != r.want || flipped != 1 || !strings.Contains(g.Reason, r.reason) {
				t.Errorf("%s is %s, %d flipped: %q\nwant %s: %q", r.gate, g.Outcome, flipped, g.Reason, r.want, r.reason)
			}
			if v.Outcome != r.want || v.RootGate != r.gate || v.Cause != r.cause {
				t.Errorf("verdict %s by %s, cause %q; want %s by %s, cause %q", v.Outcome, v.RootGate, v.Cause, r.want, r.gate, r.cause)
			}
			checkReward(t, v, r)
			for _, b := range v.Gates {
				if b.Outcome == tare.Blocked && b.BlockedBy != r.gate {
					t.Errorf("%s is blocked by %q", b.Name, b.BlockedBy)
				}
			}
		})
	}
}

func checkReward(t *testing.T, v tare.Verdict, r row) {
	t.Helper()
	if r.want == fail {
		if v.Reward == nil || *v.Reward != r.reward || v.RewardBounds != [2]float64{r.reward, r.reward} {
			t.Errorf("reward %v in %v, want %v", v.Reward, v.RewardBounds, r.reward)
		}
		return
	}
	low := map[string]float64{infra: 0, whole: 0, vis: 0, beh: 0.5, reg: 0.85}[r.gate]
	if v.Reward != nil || v.RewardBounds != [2]float64{low, 1} || len(v.Unresolved) != 1 {
		t.Errorf("reward %v in %v, want none in [%v 1]; unresolved %q", v.Reward, v.RewardBounds, low, v.Unresolved)
	}
}

// TestFewWrongOnes shows that a good test keeps its credit beside a few that ask for more than the ticket.
func TestFewWrongOnes(t *testing.T) {
	for _, r := range rows() {
		if r.rule != "regression_test/chance" {
			continue
		}
		r.spoil = wrongOnes(3)
		task, rec := r.make()
		if v := Judge(task, rec); v.Outcome != tare.Pass {
			t.Errorf("%s: %+v", v.Outcome, v.Gates)
		}
	}
}

// TestEveryRuleCounts switches each rule off in turn: some row must then come out otherwise. A rule without such a row
// defends nothing that anybody has shown.
func TestEveryRuleCounts(t *testing.T) {
	for _, rule := range Rules() {
		if rule.Why == "" || rule.ID == "" {
			t.Errorf("rule %q says nothing", rule.ID)
		}
		rest := slices.DeleteFunc(Rules(), func(r Rule) bool { return r.ID == rule.ID })
		missed := false
		for _, r := range rows() {
			if r.rule != rule.ID {
				continue
			}
			task, rec := r.make()
			if JudgeWith(rest, task, rec).Outcome != Judge(task, rec).Outcome {
				missed = true
			}
		}
		if !missed {
			t.Errorf("without rule %s every row has its outcome still", rule.ID)
		}
	}
}

// TestJudgeIsDeterministic runs the whole table twice, and looks for what differs from run to run in what verdicts say.
func TestJudgeIsDeterministic(t *testing.T) {
	noise := regexp.MustCompile(`0x[0-9a-f]{5,}|/tmp/|\b\d+\.\d+ ?s\b`)
	for _, r := range rows() {
		task, rec := r.make()
		a, b := encode(t, Judge(task, rec)), encode(t, Judge(task, clone(rec)))
		if !bytes.Equal(a, b) {
			t.Errorf("%s: two verdicts\n%s\n%s", r.name, a, b)
		}
		if m := noise.FindString(string(a)); m != "" {
			t.Errorf("%s: the verdict says %q", r.name, m)
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// TestVerdictJSON pins the form that other programs read.
func TestVerdictJSON(t *testing.T) {
	bug := perfect()
	behaviour(&bug).Cases[1].Value = twice()
	for name, rec := range map[string]tare.Record{"pass": perfect(), "behaviour": bug} {
		golden(t, name+".json", encode(t, Judge(aTask(), rec)))
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// neutral names the parts of a record that a PASS does not rest on: emptying them may leave it.
var neutral = regexp.MustCompile(`^\.Trajectory\.(Started|Finished|Steps|Detail|Final)|^\.Trajectory\.Episode\.[^T]|^\.Trajectory\.Episode\.(Task|Trial)$|` +
	`^\.Evidence\.(Problems|Broken|Stopped|Unmade)|\.Changes\[|\.Symbols\[|\.Steering\[\d+\]\.|\.(Mode|Digest|Size|Seconds|Signal|Ended|Defect|Output|Exit|Class|Message|Phase|Kind|File|Path|Why|Symbols|Name)$|` +
	`\.(Cases|Tests|Missing|Text|Bases)$|\.Command\[|\.Cases\[.*\.(Bases|Items)|\.Runs\[\d+\]$`)

// TestEmptyingNeverPasses empties any part of a good record. Where a verdict rests on it, the result is no PASS; and what is
// emptied as a whole, a list or a structure, is none either.
func TestEmptyingNeverPasses(t *testing.T) {
	records := []func() tare.Record{perfect, helped, steered}
	parts := func(rec *tare.Record) (map[string]reflect.Value, []string) {
		paths := map[string]reflect.Value{}
		walk("", reflect.ValueOf(rec).Elem(), paths)
		var names []string
		for p, v := range paths {
			if !v.IsZero() && !neutral.MatchString(p) {
				names = append(names, p)
			}
		}
		slices.Sort(names)
		return paths, names
	}
	for _, from := range records {
		first := from()
		_, names := parts(&first)
		for _, p := range names {
			rec := clone(first)
			paths, _ := parts(&rec)
			paths[p].SetZero()
			if v := Judge(aTask(), rec); v.Outcome == tare.Pass {
				t.Errorf("without %s the verdict is PASS", p)
			}
		}
	}
	if t.Failed() {
		return
	}
	// nor does one gap make up for another
	rapid.Check(t, func(t *rapid.T) {
		rec := clone(records[rapid.IntRange(0, 2).Draw(t, "record")]())
		for range rapid.IntRange(2, 4).Draw(t, "parts") {
			paths, names := parts(&rec)
			if len(names) == 0 {
				break
			}
			p := rapid.SampledFrom(names).Draw(t, "part")
			paths[p].SetZero()
		}
		if v := Judge(aTask(), rec); v.Outcome == tare.Pass {
			t.Fatalf("the verdict is PASS")
		}
	})
	for what, empty := range map[string]func(*tare.Record){
		"all":        func(r *tare.Record) { *r = tare.Record{} },
		"trajectory": func(r *tare.Record) { r.Trajectory = tare.Trajectory{} },
		"evidence":   func(r *tare.Record) { r.Evidence = tare.Evidence{} },
		"runs":       func(r *tare.Record) { r.Evidence.Runs = nil },
	} {
		rec := perfect()
		empty(&rec)
		if v := Judge(aTask(), rec); v.Outcome != unv || v.Reward != nil {
			t.Errorf("without %s the verdict is %s, %v", what, v.Outcome, v.Reward)
		}
	}
	if v := Judge(&tare.Task{}, tare.Record{}); v.Outcome != unv {
		t.Errorf("of nothing the verdict is %s", v.Outcome)
	}
}

// TestEmptyingAnyRun takes away each run, and each run's observations, one after the other.
func TestEmptyingAnyRun(t *testing.T) {
	for _, from := range []func() tare.Record{perfect, helped, steered} {
		for i, run := range from().Evidence.Runs {
			for what, empty := range map[string]func(*tare.Run){
				"itself": func(r *tare.Run) { *r = tare.Run{} },
				"tests":  func(r *tare.Run) { r.Tests = nil },
				"cases":  func(r *tare.Run) { r.Cases = nil },
				"end":    func(r *tare.Run) { r.Complete = false },
			} {
				if what == "tests" && run.Tests == nil || what == "cases" && run.Cases == nil {
					continue
				}
				// one reference that lacks the helper is as good as another, and the record need not hold both answers
				if run.World == tare.WorldReference("a") && run.Tests[0].Missing != "" {
					continue
				}
				rec := clone(from())
				empty(&rec.Evidence.Runs[i])
				if v := Judge(aTask(), rec); v.Outcome == tare.Pass {
					t.Errorf("run %s of %s in %s without %s: PASS", run.ID, run.Role, run.World, what)
				}
			}
			rec := clone(from())
			rec.Evidence.Runs = slices.Delete(rec.Evidence.Runs, i, i+1)
			if v := Judge(aTask(), rec); v.Outcome == tare.Pass {
				t.Errorf("without run %s of %s in %s: PASS", run.ID, run.Role, run.World)
			}
		}
	}
}

// walk collects every settable part of v by its path.
func walk(path string, v reflect.Value, out map[string]reflect.Value) {
	if path != "" {
		out[path] = v
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			return
		}
		for i := range v.NumField() {
			walk(path+"."+v.Type().Field(i).Name, v.Field(i), out)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			walk(path+"["+string(rune('0'+i%10))+strings.Repeat("'", i/10)+"]", v.Index(i), out)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(path+".*", v.Elem(), out)
		}
	}
}

func TestOneTestIsEnough(t *testing.T) {
	rec := perfect()
	vacuous := tare.TestNode{ID: "tests/test_new.py::test_nothing", File: "tests/test_new.py"}
	rec.Evidence.Own = append([]tare.TestNode{vacuous}, rec.Evidence.Own...)
	for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed} {
		run := at(&rec, tare.RoleRegression, w)
		run.Tests = append(run.Tests, tare.TestResult{ID: vacuous.ID, Outcome: tare.TestPassed})
	}
	if v := Judge(aTask(), rec); v.Outcome != tare.Pass {
		t.Errorf("got %+v", v)
	}
	// and without the good one, the reason is that of the one that came farthest
	*in(&rec, tare.WorldPoison) = passes
	if g, _ := Judge(aTask(), rec).Gate(reg); !strings.Contains(g.Reason, own+" is passed where every function") {
		t.Errorf("got %q", g.Reason)
	}
}

// TestInstances gives credit to one set of parameters of a test.
func TestInstances(t *testing.T) {
	rec := perfect()
	for i := range rec.Evidence.Runs {
		for k := range rec.Evidence.Runs[i].Tests {
			if r := &rec.Evidence.Runs[i]; r.Role == tare.RoleRegression {
				r.Tests[k].ID = own + "[dup]"
				r.Tests = append(r.Tests, tare.TestResult{ID: own + "[single]", Outcome: tare.TestPassed})
			}
		}
	}
	v := Judge(aTask(), rec)
	if g, _ := v.Gate(reg); v.Outcome != tare.Pass || !strings.Contains(g.Reason, "[dup]") {
		t.Errorf("got %s: %s", v.Outcome, g.Reason)
	}
}

// TestRunsAlone: a run of all tests that did not end is made up for by runs of each, and what they say must agree.
func TestRunsAlone(t *testing.T) {
	rec := perfect()
	cut := *at(&rec, tare.RoleRegression, tare.WorldSeed)
	cut.ID, cut.Complete, cut.Ended = "cut", false, "wall"
	rec.Evidence.Runs = append(rec.Evidence.Runs, cut)
	if v := Judge(aTask(), rec); v.Outcome != tare.Pass {
		t.Errorf("got %+v", v)
	}
	second := *at(&rec, tare.RoleRegression, tare.WorldSeed)
	second.ID, second.Tests = "second", []tare.TestResult{passes}
	rec.Evidence.Runs = append(rec.Evidence.Runs, second)
	if v := Judge(aTask(), rec); v.Outcome != fail {
		t.Errorf("a test that fails on the seed one time of two: %s", v.Outcome)
	}
}

// TestAllGatesThatCanBeReachedAnswer shows one mistake with two effects and one root.
func TestAllGatesThatCanBeReachedAnswer(t *testing.T) {
	rec := perfect()
	visible(&rec).Tests[0].Outcome = tare.TestFailed
	behaviour(&rec).Cases[1].Value = twice()
	v := Judge(aTask(), rec)
	b, _ := v.Gate(beh)
	r, _ := v.Gate(reg)
	if v.RootGate != vis || *v.Reward != 0 || b.Outcome != fail || b.Requirement != 2 || r.Outcome != tare.Blocked || r.BlockedBy != vis {
		t.Errorf("got %+v", v)
	}
}

func TestClaims(t *testing.T) {
	untested := perfect()
	untested.Evidence.Own = nil
	buggy := perfect()
	behaviour(&buggy).Cases[1].Value = twice()
	red := perfect()
	visible(&red).Tests[0].Outcome = tare.TestFailed
	const ticket = "1. A regression test is added that searches for a red product.\n"
	for _, tt := range []struct {
		rec    tare.Record
		final  string
		want   tare.Outcome
		reason string
	}{
		{perfect(), "", tare.NotApplicable, "no last message"},
		{perfect(), "Bye.", tare.NotApplicable, "nothing that can be checked"},
		{perfect(), "I fixed it, all requirements are met, a regression test was added and the tests pass.", tare.Pass, "borne out"},
		{untested, "I added a regression test.", fail, "“I added a regression test” is contradicted: no test was added or changed"},
		{untested, "I did not add a regression test.", tare.NotApplicable, "nothing"},
		{untested, "I fixed it and added a regression test.", fail, "added a regression test” is contradicted"},
		{buggy, "All requirements are met.", fail, "is contradicted: requirement 2"},
		{buggy, "It should be fixed.", unv, "not claimed outright"},
		{buggy, "I added a regression test.", unv, "regression_test is BLOCKED"},
		{red, "All tests pass.", fail, "1 of 2 visible tests failed"},
		{red, "I will run the tests until they pass.", tare.NotApplicable, "nothing"},
		{untested, "Your task:\n\n" + ticket, tare.NotApplicable, "nothing"},
		{untested, ticket + "\nA regression test is added.", fail, "“A regression test is added” is contradicted"},
	} {
		tt.rec.Trajectory.Final = tt.final
		task := aTask()
		task.Ticket = ticket
		v := Judge(task, tt.rec)
		g, _ := v.Gate(tare.GateClaims)
		if g.Outcome != tt.want || !strings.Contains(g.Reason, tt.reason) || g.Need != tare.Advisory {
			t.Errorf("%q: %s, %q; want %s, %q", tt.final, g.Outcome, g.Reason, tt.want, tt.reason)
		}
		tt.rec.Trajectory.Final = ""
		if without := Judge(aTask(), tt.rec); without.Outcome != v.Outcome {
			t.Errorf("%q turns the verdict from %s to %s", tt.final, without.Outcome, v.Outcome)
		}
	}
}

func TestExplain(t *testing.T) {
	rec := perfect()
	b := behaviour(&rec)
	b.Cases[1].Value, b.Output = twice(), []byte("\x1b[31mred\x1b[0m\xff\n"+strings.Repeat("x", 1<<20))
	v := Judge(aTask(), rec)
	got := Explain(aTask(), rec, v, beh)
	for _, want := range []string{"behaviour  FAIL", "requirement 2: A product appears once.", "world fix: the agent's sources", "/usr/bin/python3 run", "report whole", "3 asked, 2 right", `once: requirement 2: search("red") returned ["X", "X"], expected ["X"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	for _, gate := range []string{infra, whole, vis, beh, reg, tare.GateClaims, "nonsense\x1b"} {
		s := Explain(aTask(), rec, v, gate)
		if len(s) > maxExplain || !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\r") {
			t.Errorf("%s: %d bytes: %q", gate, len(s), s)
		}
	}
	if s := Explain(aTask(), perfect(), Judge(aTask(), perfect()), reg); !strings.Contains(s, "world poison: ") || !strings.Contains(s, "in its body: assert 2 == 1") {
		t.Errorf("got %s", s)
	}
}

func FuzzShow(f *testing.F) {
	f.Add("a\x1b[0m\xff", 40)
	f.Add("/tmp/x 0xdeadbeef", 20)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 16 + (limit&0xffff)%1000
		got := show(s, limit)
		if len(got) > limit+16 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\n\r\t\x00") {
			t.Errorf("show(%q, %d) = %q", s, limit, got)
		}
	})
}
