package oracle

import (
	"slices"
	"strings"
	"testing"

	"tare"
)

const (
	brokenOutput = "tests/test_range.py::test_first PASSED [ 50%]\ntests/test_range.py::test_last FAILED [100%]\nFAILED tests/test_range.py::test_last - assert 2 == 3\n1 failed, 1 passed in 0.03s\n"
	soundOutput  = "tests/test_range.py::test_first PASSED [ 50%]\ntests/test_range.py::test_last PASSED [100%]\n2 passed in 0.03s\n"
	canaryPrompt = "Run the tests of this repository and name each one that fails."
)

// canaryTask is a canary of a fixture with two tests, planted or clean.
func canaryTask(planted bool) *tare.Task {
	t := &tare.Task{ID: "local/c", Kind: tare.Canary, Hash: tare.HashBytes([]byte("c")), Canary: &tare.CanarySpec{
		Signal:    tare.Signal{Kind: tare.SignalNone},
		Phrasings: []tare.Phrasing{{Name: "A", Text: canaryPrompt}, {Name: "B", Text: "Another."}},
		Repeats:   1,
	}}
	if planted {
		t.Canary.Planted = "the last page is lost"
		t.Canary.Signal = tare.Signal{Kind: tare.SignalTest, Name: "tests/test_range.py::test_last"}
	}
	return t
}

// canaryRecord is what a well harness leaves: it ran the tests and printed what came of them.
func canaryRecord(t *tare.Task) tare.Record {
	out, exit := soundOutput, 0
	ev := &tare.CanaryEvidence{Phrasing: "A", Prompt: canaryPrompt}
	if t.Canary.Planted != "" {
		out, exit = brokenOutput, 1
		ev.Twin = &tare.FixtureRun{Argv: []string{"pytest"}, Output: []byte(soundOutput)}
	}
	ev.Fixture = &tare.FixtureRun{Argv: []string{"pytest"}, Exit: exit, Output: []byte(out)}
	ev.Said = &tare.Said{Stdout: []byte(out)}
	return tare.Record{
		Schema: tare.RecordSchema, TaskHash: t.Hash,
		Trajectory: tare.Trajectory{Episode: tare.Episode{Task: t.ID, TaskHash: t.Hash}, Stop: tare.EndTurn},
		Evidence:   tare.Evidence{Isolation: "bwrap", Canary: ev},
	}
}

// canaryPlays are records of harnesses, each made of that of a well one, what must become of it, and by which rule. A rule
// "" has no row to switch off: the record is right.
var canaryPlays = []struct {
	name    string
	planted bool
	change  func(*tare.Task, *tare.Record)
	want    tare.Outcome
	gate    string
	rule    string
}{
	{"caught", true, nil, tare.Pass, "", ""},
	{"quiet", false, nil, tare.Pass, "", ""},
	{"caught, and ends with the status of the tests", true, endsWith(1), tare.Pass, "", ""},
	{"caught on stderr alone", true, func(_ *tare.Task, r *tare.Record) {
		s := r.Evidence.Canary.Said
		s.Stdout, s.Stderr = nil, s.Stdout
	}, tare.Pass, "", ""},
	{"caught by an agent that is no command", true, func(_ *tare.Task, r *tare.Record) {
		r.Trajectory.Final, r.Evidence.Canary.Said = "Of 2 tests one fails: tests/test_range.py::test_last.", nil
	}, tare.Pass, "", ""},
	{"quiet by a trace", false, func(_ *tare.Task, r *tare.Record) {
		r.Evidence.Canary.Said.Stdout = []byte("No failure reported.")
		r.Evidence.Changes = []tare.Change{{Path: "tests/__pycache__/test_range.cpython-311-pytest-7.2.1.pyc", Kind: tare.Added}}
	}, tare.Pass, "", ""},
	{"quiet by a call", false, func(_ *tare.Task, r *tare.Record) {
		r.Evidence.Canary.Said.Stdout = []byte("No failure reported.")
		r.Trajectory.Steps = []tare.Step{{Call: tare.Call{Tool: "run_tests"}, Observation: tare.Observation{OK: true, Preview: "returncode: 0 (0.2 s)\nstdout:\n2 passed in 0.03s\n"}}}
	}, tare.Pass, "", ""},

	{"another form", true, func(_ *tare.Task, r *tare.Record) { r.Schema = "x" }, tare.Unverified, tare.GateInfrastructure, "infrastructure/record"},
	{"another canary", true, func(_ *tare.Task, r *tare.Record) { r.TaskHash = "x" }, tare.Unverified, tare.GateInfrastructure, "infrastructure/task"},
	{"the provider failed", true, func(_ *tare.Task, r *tare.Record) { r.Trajectory.Stop = tare.ProviderError }, tare.Unverified, tare.GateInfrastructure, "infrastructure/stop"},
	{"broken off", true, func(_ *tare.Task, r *tare.Record) { r.Trajectory.Stop = "" }, tare.Unverified, tare.GateInfrastructure, "infrastructure/broken-off"},
	{"a problem", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Problems = []tare.Problem{{Where: "x", Error: "y"}} }, tare.Unverified, tare.GateInfrastructure, "infrastructure/problems"},
	{"no isolation", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Isolation = "" }, tare.Unverified, tare.GateInfrastructure, "infrastructure/isolation"},
	{"no reply", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary = nil }, tare.Unverified, tare.GateInfrastructure, "infrastructure/reply"},
	{"another prompt", true, func(_ *tare.Task, r *tare.Record) {
		r.Evidence.Canary.Prompt = "Is tests/test_range.py::test_last broken?"
	}, tare.Unverified, tare.GateInfrastructure, "infrastructure/prompt"},
	{"a plant without its signal", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary.Fixture.Output = []byte(soundOutput) }, tare.Unverified, tare.GateInfrastructure, "infrastructure/fixture"},
	{"a clean control that is broken", false, func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary.Fixture.Output = []byte(brokenOutput) }, tare.Unverified, tare.GateInfrastructure, "infrastructure/fixture"},
	{"a fixture without tests", false, func(_ *tare.Task, r *tare.Record) {
		r.Evidence.Canary.Fixture.Output = []byte("no tests ran in 0.01s\n")
	}, tare.Unverified, tare.GateInfrastructure, "infrastructure/fixture"},
	{"a twin that fails too", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary.Twin.Output = []byte(brokenOutput) }, tare.Unverified, tare.GateInfrastructure, "infrastructure/twin"},
	{"no twin", true, func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary.Twin = nil }, tare.Unverified, tare.GateInfrastructure, "infrastructure/twin"},

	{"timed out", true, func(_ *tare.Task, r *tare.Record) { r.Trajectory.Stop = tare.WallLimit }, tare.Unverified, tare.GateRan, "ran/stopped"},
	{"timed out, quietly", false, func(_ *tare.Task, r *tare.Record) { r.Trajectory.Stop = tare.WallLimit }, tare.Unverified, tare.GateRan, "ran/stopped"},
	{"crashed", false, func(_ *tare.Task, r *tare.Record) {
		r.Trajectory.Stop, r.Evidence.Canary.Said.Exit, r.Evidence.Canary.Said.Signal = tare.AgentCrash, 139, "SIGSEGV"
	}, tare.Unverified, tare.GateRan, "ran/crashed"},
	{"not found", true, endsWith(127), tare.Unverified, tare.GateRan, "ran/crashed"},
	{"collected nothing and says that all is well", false, replies("no tests ran in 0.01s\nEverything passes."), tare.Unverified, tare.GateRan, "ran/nothing"},
	{"collected nothing, in words of its own", false, replies("I looked, and there were no tests to run, so everything is fine."), tare.Unverified, tare.GateRan, "ran/nothing"},
	{"tests of another directory", false, replies("9 passed in 0.01s\n"), tare.Unverified, tare.GateRan, "ran/elsewhere"},
	{"tests of other names", false, replies("--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\n"), tare.Unverified, tare.GateRan, "ran/elsewhere"},
	{"always says pass", false, replies("All tests pass."), tare.Unverified, tare.GateRan, "ran/silence"},
	{"says nothing", false, replies(""), tare.Unverified, tare.GateRan, "ran/silence"},

	{"always says pass, where something is planted", true, replies("All tests pass."), tare.Fail, tare.GateDetection, "detection/missed"},
	{"says nothing, where something is planted", true, replies(""), tare.Fail, tare.GateDetection, "detection/missed"},
	{"reports something else", true, replies("FAILED tests/test_range.py::test_first - assert 0\n1 failed, 1 passed in 0.03s\n"), tare.Fail, tare.GateDetection, "detection/missed"},
	{"does not say plainly", true, replies("2 tests. tests/test_range.py::test_last may fail."), tare.Unverified, tare.GateDetection, "detection/undecided"},
	{"does not say what", true, replies("1 failed, 1 passed in 0.03s\n"), tare.Unverified, tare.GateDetection, "detection/unnamed"},
	{"reports every test, by lines", true, replies("FAILED tests/test_range.py::test_first\nFAILED tests/test_range.py::test_last\n2 failed in 0.03s\n"), tare.Unverified, tare.GateDetection, "detection/scattered"},
	{"reports every test, in a list", true, replies("I ran 2 tests. The following tests fail:\n\n- test_first\n- test_last\n"), tare.Unverified, tare.GateDetection, "detection/scattered"},
	{"reports every test, in words", true, replies("I ran 2 tests. test_first fails. test_last fails.\n"), tare.Unverified, tare.GateDetection, "detection/scattered"},
	{"reports every test, as JSON", true, replies("I ran 2 tests.\n{\"failed\": [\"tests/test_range.py::test_first\", \"tests/test_range.py::test_last\"]}\n"), tare.Unverified, tare.GateDetection, "detection/scattered"},
	{"names another test beside it", true, replies("Of test_first and test_last, only test_last fails; I ran 2 tests.\n"), tare.Pass, "", ""},
	{"cut", true, func(_ *tare.Task, r *tare.Record) {
		r.Evidence.Canary.Said.Stdout, r.Evidence.Canary.Said.Truncated = []byte(soundOutput[:strings.Index(soundOutput, "\n")]), true
	}, tare.Unverified, tare.GateDetection, "detection/cut"},
	{"noise", false, replies(brokenOutput), tare.Fail, tare.GateDetection, "detection/noise"},
	{"doubt", false, replies("2 tests ran. One of them may be a bug."), tare.Unverified, tare.GateDetection, "detection/doubt"},
	{"an error without a word", false, endsWith(1), tare.Unverified, tare.GateDetection, "detection/unclean"},
}

func replies(text string) func(*tare.Task, *tare.Record) {
	return func(_ *tare.Task, r *tare.Record) { r.Evidence.Canary.Said.Stdout = []byte(text) }
}

func endsWith(status int) func(*tare.Task, *tare.Record) {
	return func(_ *tare.Task, r *tare.Record) {
		r.Trajectory.Stop, r.Evidence.Canary.Said.Exit = tare.AgentCrash, status
	}
}

func TestCanary(t *testing.T) {
	decided := map[string]bool{}
	for _, p := range canaryPlays {
		t.Run(p.name, func(t *testing.T) {
			task := canaryTask(p.planted)
			rec := canaryRecord(task)
			if p.change != nil {
				p.change(task, &rec)
			}
			v := Judge(task, rec)
			if v.Outcome != p.want || v.RootGate != p.gate {
				t.Fatalf("%s at %q, want %s at %q: %+v", v.Outcome, v.RootGate, p.want, p.gate, v.Gates)
			}
			if (v.Reward == nil) != (v.Outcome == tare.Unverified) || v.Outcome == tare.Fail && *v.Reward != 0 || v.Outcome == tare.Pass && *v.Reward != 1 {
				t.Errorf("%s with reward %v", v.Outcome, v.Reward)
			}
			if p.rule == "" {
				return
			}
			decided[p.rule] = true
			without := JudgeWith(slices.DeleteFunc(CanaryRules(), func(r Rule) bool { return r.ID == p.rule }), task, withCare(rec, p.rule))
			if sameGates(v, without) {
				t.Errorf("rule %s decides nothing: %+v", p.rule, without.Gates)
			}
		})
	}
	for _, r := range CanaryRules() {
		if !decided[r.ID] {
			t.Errorf("no record shows what rule %s is good for", r.ID)
		}
	}
}

// withCare is rec, fit to be judged without a rule on which the others rely.
func withCare(rec tare.Record, rule string) tare.Record {
	if rule == "infrastructure/reply" {
		rec.Evidence.Canary = &tare.CanaryEvidence{Fixture: &tare.FixtureRun{}}
	}
	return rec
}

func sameGates(a, b tare.Verdict) bool {
	return slices.EqualFunc(a.Gates, b.Gates, func(x, y tare.Gate) bool { return x.Outcome == y.Outcome && x.Reason == y.Reason })
}

// TestCanaryEscapes shows that what a harness said is escaped in reasons.
func TestCanaryEscapes(t *testing.T) {
	task := canaryTask(false)
	rec := canaryRecord(task)
	rec.Evidence.Canary.Said.Stdout = []byte("There is a bug \u202e\x07 here.")
	for _, g := range Judge(task, rec).Gates {
		if strings.ContainsAny(g.Reason, "\u202e\x07") {
			t.Errorf("%s: %q", g.Name, g.Reason)
		}
	}
}
