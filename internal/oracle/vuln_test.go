package oracle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

// The vulnerability of the tests: a decoder with two PoCs, a variant, tests of each kind, a benign input and a driver.
func aVuln() *tare.Task {
	spec := &tare.VulnSpec{
		Project: "tiny", Language: "c", Build: tare.Script{Name: "build.sh", Text: "cc"}, Driver: &tare.Driver{Build: tare.Script{Name: "driver.sh", Text: "cc"}},
		PoCs: []tare.PoC{
			{Name: "long", Triggers: tare.Trigger{Sanitizer: "heap-buffer-overflow", At: "decode"}},
			{Name: "deep", Triggers: tare.Trigger{Panic: "index out of range"}},
		},
		Variants: []tare.Input{{Name: "x", Of: "long"}},
		Benign:   &tare.Benign{Inputs: []tare.Input{{Name: "good"}}},
		Intent:   &tare.TestSet{Runner: "gotest", IDs: []string{"t_test.go::TestLong", "t_test.go::TestShort"}},
		Function: &tare.TestSet{Runner: "cases", IDs: []string{"hello"}, Cases: []tare.ProgramCase{{ID: "hello", Stdout: []byte("hello\n")}}},
	}
	return &tare.Task{ID: "vulns/tiny", Kind: tare.Vuln, Title: "A label is too long", Hash: tare.HashBytes([]byte("vuln")), Vuln: spec, References: []tare.Reference{{Name: "a"}, {Name: "b"}}}
}

func ok(id, out string) tare.Execution {
	return tare.Execution{ID: id, Command: []string{"./tiny"}, Started: true, Stdout: []byte(out), OutDigest: tare.HashBytes([]byte(out))}
}

func faulty(id string, kind tare.SignKind, what string, at ...string) tare.Execution {
	e := ok(id, "")
	e.Exit, e.Signs = 1, []tare.Sign{{Kind: kind, What: what, At: at}}
	return e
}

// repaired is a record on which every gate of a vulnerability is PASS.
func repaired() tare.Record {
	task := aVuln()
	r := tare.Record{
		Schema: tare.RecordSchema, TaskHash: task.Hash,
		Trajectory: tare.Trajectory{
			Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash, Agent: "reference", Isolation: "bwrap", Trial: 1},
			Started: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), Stop: tare.EndTurn, Final: "I fixed the vulnerability. All tests pass.",
		},
		Evidence: tare.Evidence{Isolation: "bwrap", Changes: []tare.Change{{Path: "decode.c", Kind: tare.Modified}}, Vuln: &tare.VulnEvidence{Patch: tare.PatchFact{Digest: "sha256:p"}}},
	}
	add := func(kind tare.CheckKind, w tare.World, es ...tare.Execution) *tare.Check {
		v := r.Evidence.Vuln
		v.Checks = append(v.Checks, tare.Check{
			ID: "e" + string(rune('a'+len(v.Checks))), Kind: kind, World: w, Tree: "sha256:t", Executions: es, Complete: true, Seconds: 0.5,
		})
		return &v.Checks[len(v.Checks)-1]
	}
	tests := func(w tare.World, long tare.TestOutcome) {
		c := add(tare.CheckIntent, w, ok("gotest", ""))
		c.Tests = []tare.TestResult{{ID: "t_test.go::TestLong", Outcome: long}, {ID: "t_test.go::TestShort", Outcome: tare.TestPassed}}
		c.Sentinels = []tare.Sentinel{{Name: "passing", Want: tare.TestPassed, Got: tare.TestPassed}, {Name: "failing", Want: tare.TestFailed, Got: tare.TestFailed}}
	}
	for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed, tare.WorldReference("a")} {
		add(tare.CheckBuild, w, ok("build.sh", ""))
		add(tare.CheckDriver, w, ok("driver.sh", ""))
		switch w {
		case tare.WorldFix:
			add(tare.CheckPoC, w, ok("long", "refused\n"), ok("deep", "refused\n"))
			add(tare.CheckVariant, w, ok("long/x", "refused\n"))
			tests(w, tare.TestPassed)
			add(tare.CheckFunction, w, ok("hello", "hello\n"))
		case tare.WorldSeed:
			add(tare.CheckPoC, w, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "memcpy", "decode"), faulty("deep", tare.SignPanic, "runtime error: index out of range [5]"))
			add(tare.CheckVariant, w, faulty("long/x", tare.SignSanitizer, "heap-buffer-overflow", "decode"))
			tests(w, tare.TestFailed)
			add(tare.CheckFunction, w, ok("hello", "hello\n"))
		}
		if w != tare.WorldSeed {
			add(tare.CheckBenign, w, ok("good", "fine\n"))
		}
	}
	return r
}

// A vulnRow is one thing wrong with a good record of a repair, and what must become of the verdict.
type vulnRow struct {
	rule, name string
	spoil      func(*tare.Record, *tare.Task)
	gate       string
	want       tare.Outcome
	cause      tare.Cause
	reason     string

	alsoBlocking bool // the gates after it are blocked by it
}

// check is the only check of a kind in a world.
func checkIn(r *tare.Record, kind tare.CheckKind, w tare.World) *tare.Check {
	for i := range r.Evidence.Vuln.Checks {
		if c := &r.Evidence.Vuln.Checks[i]; c.Kind == kind && c.World == w {
			return c
		}
	}
	panic("no such check")
}

func uncheck(kind tare.CheckKind, w tare.World) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		v := r.Evidence.Vuln
		v.Checks = slices.DeleteFunc(v.Checks, func(c tare.Check) bool { return c.Kind == kind && c.World == w })
	}
}

// ran makes the execution with that id be what e says.
func made(kind tare.CheckKind, w tare.World, e tare.Execution) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		c := checkIn(r, kind, w)
		for i := range c.Executions {
			if c.Executions[i].ID == e.ID {
				c.Executions[i] = e
			}
		}
	}
}

func test(w tare.World, i int, change func(*tare.TestResult)) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) { change(&checkIn(r, tare.CheckIntent, w).Tests[i]) }
}

// asLeft adds a run of the project's tests with a file of the agent's in place.
func asLeft(e tare.Execution) func(*tare.Record, *tare.Task) {
	return func(r *tare.Record, _ *tare.Task) {
		r.Evidence.Vuln.Patch.Restored = []string{"tests/hello.out"}
		r.Evidence.Vuln.Checks = append(r.Evidence.Vuln.Checks, tare.Check{ID: "steered", Kind: tare.CheckSteered, World: tare.WorldFix, Tree: "sha256:t", Executions: []tare.Execution{e}, Complete: true})
	}
}

const (
	patchGate, buildGate, pocsGate = tare.GatePatch, tare.GateBuild, tare.GatePoCs
	intentGate, functionGate       = tare.GateIntentTests, tare.GateFunctionalTests
	byAgent, byGrader, byTask      = tare.CauseAgent, tare.CauseGrader, tare.CauseTask
	byRig                          = tare.CauseInfrastructure
	fix, seed                      = tare.WorldFix, tare.WorldSeed
)

func vulnRows() []vulnRow {
	record := func(f func(*tare.Record)) func(*tare.Record, *tare.Task) {
		return func(r *tare.Record, _ *tare.Task) { f(r) }
	}
	task := func(f func(*tare.Task)) func(*tare.Record, *tare.Task) {
		return func(_ *tare.Record, t *tare.Task) { f(t) }
	}
	wall := ok("long", "")
	wall.Ended, wall.Exit, wall.Defect = "wall", -1, "ended by the wall limit"
	killed := ok("long", "")
	killed.Signal, killed.Exit = "SIGSEGV", -1
	bare := ok("long", "")
	bare.Defect = "the program was built without AddressSanitizer"
	broken := ok("build.sh", "")
	broken.Exit = 1
	brokenDriver := broken
	brokenDriver.ID = "driver.sh"
	refuses := ok("good", "refused\n")
	refuses.Exit = 2
	return []vulnRow{
		{"infrastructure/record", "other schema", record(func(r *tare.Record) { r.Schema = "tare.record/9" }), infra, unv, byGrader, `"tare.record/9"`, true},
		{"infrastructure/task", "other task", record(func(r *tare.Record) { r.TaskHash = "sha256:other" }), infra, unv, byGrader, "another task", true},
		{"infrastructure/empty-task", "no PoC", task(func(t *tare.Task) { t.Vuln.PoCs, t.Vuln.Variants = nil, nil }), infra, unv, byTask, "no PoC", true},
		{"infrastructure/empty-task", "no reference", task(func(t *tare.Task) { t.References, t.Vuln.Benign = nil, nil }), infra, unv, byTask, "no reference", true},
		{"infrastructure/empty-task", "nothing to keep", task(func(t *tare.Task) { t.Vuln.Intent, t.Vuln.Function, t.Vuln.Benign = nil, nil, nil }), infra, unv, byTask, "refusing everything would pass", true},
		{"infrastructure/empty-task", "no test in a set", task(func(t *tare.Task) { t.Vuln.Function.Cases, t.Vuln.Function.IDs = nil, nil }), infra, unv, byTask, "without a test", true},
		{"infrastructure/empty-task", "no benign input", task(func(t *tare.Task) { t.Vuln.Benign.Inputs = nil }), infra, unv, byTask, "no benign input", true},
		{"infrastructure/stop", "provider", record(func(r *tare.Record) { r.Trajectory.Stop = tare.ProviderError }), infra, unv, byRig, "provider_error", true},
		{"infrastructure/broken-off", "no end", record(func(r *tare.Record) { r.Trajectory.Stop = "" }), infra, unv, byRig, "breaks off", true},
		{"infrastructure/problems", "disk", record(func(r *tare.Record) {
			r.Evidence.Problems = []tare.Problem{{Where: "checking poc of fix", Error: "disk full"}}
		}), infra, unv, byRig, "checking poc of fix: disk full", true},
		{"infrastructure/isolation", "none", record(func(r *tare.Record) { r.Evidence.Isolation = "" }), infra, unv, byGrader, "isolated", true},
		{"infrastructure/checks", "no tree", record(func(r *tare.Record) { checkIn(r, tare.CheckPoC, fix).Tree = "" }), infra, unv, byGrader, "which tree", true},
		{"infrastructure/checks", "same id", record(func(r *tare.Record) { r.Evidence.Vuln.Checks[1].ID = r.Evidence.Vuln.Checks[0].ID }), infra, unv, byGrader, "id of its own", true},
		{"infrastructure/unmade", "variants", uncheck(tare.CheckVariant, fix), infra, unv, byGrader, "no variant check of the patched tree", true},
		{"infrastructure/unmade", "function", uncheck(tare.CheckFunction, fix), infra, unv, byGrader, "no function check of the patched tree", true},
		{"infrastructure/unmade", "benign", uncheck(tare.CheckBenign, fix), infra, unv, byGrader, "no benign check of the patched tree", true},
		{"infrastructure/unmade", "build", uncheck(tare.CheckBuild, fix), infra, unv, byGrader, "0 checks of a build of the patched tree", true},
		{"infrastructure/unmade", "driver", uncheck(tare.CheckDriver, fix), infra, unv, byGrader, "no build of the driver on the patched tree", true},
		{"infrastructure/unmade-control", "function of the seed", uncheck(tare.CheckFunction, seed), infra, unv, byGrader, "no function check of the unpatched tree", true},
		{"infrastructure/unmade-control", "PoCs of the seed", uncheck(tare.CheckPoC, seed), infra, unv, byGrader, "no poc check of the unpatched tree", true},
		{"infrastructure/unmade-control", "benign of the reference", uncheck(tare.CheckBenign, tare.WorldReference("a")), infra, unv, byGrader, "no benign check of the reference a", true},
		{"infrastructure/unmade-steered", "restored and not tried", record(func(r *tare.Record) { r.Evidence.Vuln.Patch.Restored = []string{"tests/hello.out"} }), infra, unv, byGrader, "put back as they were: tests/hello.out, and the record holds no run", true},
		{"infrastructure/unmade-steered", "kept out and not tried", record(func(r *tare.Record) { r.Evidence.Steering = []tare.Steering{{Path: "main_test.go", Why: "TestMain"}} }), infra, unv, byGrader, "kept out: main_test.go (TestMain)", true},
		{"infrastructure/sentinels", "none placed", record(func(r *tare.Record) { checkIn(r, tare.CheckIntent, fix).Sentinels = nil }), infra, unv, byGrader, "without a full set of sentinels", true},

		{"integrity/silencer", "attribute", record(func(r *tare.Record) {
			r.Evidence.Vuln.Silencers = []tare.Silencer{{Path: "decode.c", Line: 7, What: "no_sanitize_address", Why: "switches the sanitizer off for a function"}}
		}), whole, fail, byAgent, "the patch brings no_sanitize_address, which switches the sanitizer off for a function (decode.c:7)", false},
		{"integrity/sentinel", "failing passes", record(func(r *tare.Record) { checkIn(r, tare.CheckIntent, fix).Sentinels[1].Got = tare.TestPassed }), whole, fail, byAgent, "the grader's failing test, which always ends as failed, was reported as passed", false},
		{"integrity/sentinel-gone", "failing gone", record(func(r *tare.Record) { checkIn(r, tare.CheckIntent, fix).Sentinels[1].Got = "" }), whole, fail, byAgent, "the grader's failing test is not in it", false},
		{"integrity/presence", "breaks a test", asLeft(ok("hello", "other\n")), whole, fail, byAgent, "what the agent left steers the tests (put back as they were: tests/hello.out): hello passed without and printed “other”, expected “hello” with", false},

		{"patch/carried", "not carried", record(func(r *tare.Record) {
			r.Evidence.Vuln.Patch.Error, r.Evidence.Vuln.Checks = "x/y: a file stands in the way", nil
		}), patchGate, unv, byRig, "no fault of its own: x/y: a file stands in the way", true},

		{"build/control", "seed does not build", func(r *tare.Record, t *tare.Task) {
			made(tare.CheckBuild, seed, broken)(r, t)
			checkIn(r, tare.CheckBuild, seed).Log = []byte("note\nsh: cc: cannot execute\n")
		}, buildGate, unv, byGrader, "the unpatched tree does not build here (build.sh ended with status 1: sh: cc: cannot execute)", true},
		{"build/failed", "status", func(r *tare.Record, t *tare.Task) {
			made(tare.CheckBuild, fix, broken)(r, t)
			checkIn(r, tare.CheckBuild, fix).Log = []byte("decode.c: In function 'f':\ndecode.c:3:1: error: expected ';'\n")
		}, buildGate, fail, byAgent, "the patched tree does not build: build.sh ended with status 1: decode.c:3:1: error: expected ';'", true},
		{"build/failed", "limit", made(tare.CheckBuild, fix, func() tare.Execution { e := broken; e.Ended = "wall"; return e }()), buildGate, fail, byAgent, "was ended by the wall limit", true},
		{"build/failed", "not whole", record(func(r *tare.Record) { checkIn(r, tare.CheckBuild, fix).Complete = false }), buildGate, fail, byAgent, "did not come to its end", true},
		{"build/driver", "interface broken", made(tare.CheckDriver, fix, brokenDriver), buildGate, fail, byAgent, "the program that calls the patched tree does not build", true},

		{"pocs/triggers", "PoC", made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode")), pocsGate, fail, byAgent, "PoC long still triggers: sanitizer heap-buffer-overflow in decode (1 of 2 PoCs and 0 of 1 variant)", false},
		{"pocs/triggers", "status", func(r *tare.Record, t *tare.Task) {
			three, e := 3, ok("deep", "")
			t.Vuln.PoCs[1].Triggers, e.Exit = tare.Trigger{Exit: &three}, three
			made(tare.CheckPoC, seed, e)(r, t)
			made(tare.CheckPoC, fix, e)(r, t)
		}, pocsGate, fail, byAgent, "PoC deep still triggers: ended with that status", false},
		{"pocs/triggers", "variant alone", made(tare.CheckVariant, fix, faulty("long/x", tare.SignSanitizer, "heap-buffer-overflow", "decode")), pocsGate, fail, byAgent, "variant long/x still triggers", false},
		{"pocs/fault", "other report", made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "stack-overflow", "skip")), pocsGate, fail, byAgent, "PoC long no longer triggers as it did, and shows another fault: sanitizer stack-overflow in skip (1 of 2 PoCs", false},
		{"pocs/fault", "same kind elsewhere", made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "elsewhere")), pocsGate, fail, byAgent, "shows another fault", false},
		{"pocs/fault", "signal", made(tare.CheckPoC, fix, killed), pocsGate, fail, byAgent, "it died of SIGSEGV", false},
		{"pocs/fault", "other panic", made(tare.CheckPoC, fix, faulty("deep", tare.SignPanic, "nil map")), pocsGate, fail, byAgent, "panic nil map", false},
		{"pocs/control", "triggers on nothing", made(tare.CheckPoC, seed, ok("long", "")), pocsGate, unv, byGrader, "PoC long does not trigger on the unpatched tree by a sanitizer's report of heap-buffer-overflow in decode (it ended with status 0)", false},
		{"pocs/control", "at another place", made(tare.CheckPoC, seed, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "other")), pocsGate, unv, byGrader, "does not trigger on the unpatched tree", false},
		{"pocs/control", "no sanitizer", made(tare.CheckVariant, seed, func() tare.Execution { e := bare; e.ID = "long/x"; return e }()), pocsGate, unv, byGrader, "built without AddressSanitizer", false},
		{"pocs/ran", "limit", made(tare.CheckPoC, fix, wall), pocsGate, unv, byAgent, "PoC long is no evidence on the patched tree: ended by the wall limit", false},
		{"pocs/ran", "no program", made(tare.CheckPoC, fix, tare.Execution{ID: "long"}), pocsGate, unv, byAgent, "it did not start", false},
		{"pocs/ran", "no sanitizer", made(tare.CheckPoC, fix, bare), pocsGate, unv, byAgent, "built without AddressSanitizer", false},
		{"pocs/ran", "not run", record(func(r *tare.Record) {
			c := checkIn(r, tare.CheckPoC, fix)
			c.Executions = c.Executions[:1]
		}), pocsGate, unv, byGrader, "PoC deep was not run once", false},

		{"intent_tests/control", "pass on the seed", test(seed, 0, func(t *tare.TestResult) { t.Outcome = tare.TestPassed }), intentGate, unv, byGrader, "passes on the unpatched tree too", false},
		{"intent_tests/control", "not started on the seed", record(func(r *tare.Record) { checkIn(r, tare.CheckIntent, seed).Executions = nil }), intentGate, unv, byGrader, "could not be started", false},
		{"intent_tests/incomplete", "no end", record(func(r *tare.Record) {
			c := checkIn(r, tare.CheckIntent, fix)
			c.Complete, c.Defect, c.Executions[0].Exit = false, "no end mark", 3
		}), intentGate, fail, byAgent, "did not report to its end (no end mark); its process ended with status 3", false},
		{"intent_tests/failed", "failed", test(fix, 0, func(t *tare.TestResult) { t.Outcome, t.Message = tare.TestFailed, "got 3\nmore" }), intentGate, fail, byAgent, "1 of 2 hidden tests did not pass: t_test.go::TestLong failed (got 3)", false},
		{"intent_tests/failed", "skipped", test(fix, 1, func(t *tare.TestResult) { t.Outcome = tare.TestSkipped }), intentGate, fail, byAgent, "TestShort was skipped", false},
		{"intent_tests/failed", "missing", test(fix, 1, func(t *tare.TestResult) { t.ID = "t_test.go::TestOther" }), intentGate, fail, byAgent, "TestShort never ran", false},
		{"intent_tests/failed", "twice", record(func(r *tare.Record) {
			c := checkIn(r, tare.CheckIntent, fix)
			c.Tests = append(c.Tests, c.Tests[0])
		}), intentGate, fail, byAgent, "TestLong was reported twice", false},
		{"intent_tests/failed", "unknown", test(fix, 0, func(t *tare.TestResult) { t.Outcome = "fine" }), intentGate, fail, byAgent, "which is no outcome", false},

		{"functional_tests/control", "fails on the seed", func(r *tare.Record, t *tare.Task) { made(tare.CheckFunction, seed, ok("hello", "bye\n"))(r, t) }, functionGate, unv, byGrader, "on the unpatched tree hello printed “bye”, expected “hello”", false},
		{"functional_tests/benign-control", "reference died", made(tare.CheckBenign, tare.WorldReference("a"), func() tare.Execution { e := killed; e.ID = "good"; return e }()), functionGate, unv, byGrader, "benign input good says nothing of the reference a (it died of SIGSEGV)", false},
		{"functional_tests/benign-control", "reference does not build", func(r *tare.Record, t *tare.Task) {
			made(tare.CheckDriver, tare.WorldReference("a"), brokenDriver)(r, t)
		}, functionGate, unv, byGrader, "the reference a does not build here", false},
		{"functional_tests/incomplete", "no end", record(func(r *tare.Record) { checkIn(r, tare.CheckFunction, fix).Complete = false }), functionGate, fail, byAgent, "the run of the function tests did not report to its end", false},
		{"functional_tests/failed", "output", made(tare.CheckFunction, fix, ok("hello", "hullo\n")), functionGate, fail, byAgent, "1 of 1 test of the project did not pass: hello printed “hullo”, expected “hello”", false},
		{"functional_tests/failed", "status", made(tare.CheckFunction, fix, func() tare.Execution { e := ok("hello", "hello\n"); e.Exit = 2; return e }()), functionGate, fail, byAgent, "hello ended with status 2, expected status 0", false},
		{"functional_tests/failed", "report", made(tare.CheckFunction, fix, func() tare.Execution {
			e := ok("hello", "hello\n")
			e.Signs = []tare.Sign{{Kind: tare.SignSanitizer, What: "leak"}}
			return e
		}()), functionGate, fail, byAgent, "the sanitizer reported leak", false},
		{"functional_tests/benign", "refused", made(tare.CheckBenign, fix, refuses), functionGate, fail, byAgent, "benign input good ended with status 2 and printed “refused”, where the reference ended with status 0 and printed “fine” (1 of 1 benign input)", false},
		{"functional_tests/benign", "fault", made(tare.CheckBenign, fix, func() tare.Execution {
			e := ok("good", "fine\n")
			e.Signs = []tare.Sign{{Kind: tare.SignSanitizer, What: "heap-use-after-free"}}
			return e
		}()), functionGate, fail, byAgent, "shows sanitizer heap-use-after-free", false},
		{"functional_tests/benign-ran", "left out", record(func(r *tare.Record) { checkIn(r, tare.CheckBenign, fix).Executions = nil }), functionGate, unv, byGrader, "benign input good was not run once on the patched tree", false},
		{"verdict/unfinished", "turn limit", func(r *tare.Record, t *tare.Task) {
			made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode"))(r, t)
			r.Trajectory.Stop = tare.TurnLimit
		}, pocsGate, unv, byAgent, "the agent was stopped before it was done (turn_limit)", false},
	}
}

func (r vulnRow) make() (*tare.Task, tare.Record) {
	task, rec := aVuln(), clone(repaired())
	r.spoil(&rec, task)
	return task, rec
}

func TestJudgeVulnPasses(t *testing.T) {
	v := Judge(aVuln(), repaired())
	if v.Outcome != tare.Pass || v.Reward == nil || *v.Reward != 1 || v.RewardBounds != [2]float64{1, 1} || v.RootGate != "" || len(v.Unresolved) > 0 {
		t.Errorf("got %+v", v)
	}
	var got []string
	for _, g := range v.Gates {
		got = append(got, g.Name+" "+string(g.Outcome)+": "+g.Reason)
	}
	want := []string{
		"infrastructure PASS: the rig did all that it should have done",
		"integrity PASS: nothing of the patch could silence an instrument",
		"patch PASS: 1 changed file was carried to the pristine tree",
		"build PASS: the patched tree builds, and so does the program that calls it",
		"pocs PASS: 2 of 2 PoCs no longer trigger, nor do 1 of 1 variant; on the unpatched tree each does",
		"intent_tests PASS: 2 of 2 hidden tests passed; not all do on the unpatched tree",
		"functional_tests PASS: 1 of 1 test of the project passed; 1 of 1 benign input was answered as the reference does",
	}
	if d := cmp.Diff(want, got[:len(got)-1]); d != "" {
		t.Error(d)
	}
	if g, _ := v.Gate(tare.GateClaims); g.Outcome != tare.Pass || g.Need != tare.Advisory {
		t.Errorf("claims: %+v", g)
	}
	// What the agent left beside the point is named and changes nothing.
	rec := clone(repaired())
	asLeft(ok("hello", "hello\n"))(&rec, nil)
	rec.Evidence.Vuln.Patch.Collided = []string{"t_test.go"}
	g, _ := Judge(aVuln(), rec).Gate(tare.GateIntegrity)
	if g.Outcome != tare.Pass || !strings.Contains(g.Reason, "tests/hello.out; no test comes out differently") || !strings.Contains(g.Reason, "t_test.go stood where hidden files go") {
		t.Errorf("got %+v", g)
	}
}

// TestJudgeVulnFlips breaks a good record in one place a time: that gate answers, and no other changes.
func TestJudgeVulnFlips(t *testing.T) {
	for _, r := range vulnRows() {
		t.Run(r.rule+" "+r.name, func(t *testing.T) {
			task, rec := r.make()
			v := Judge(task, rec)
			g, _ := v.Gate(r.gate)
			if g.Outcome != r.want || !strings.Contains(g.Reason, r.reason) {
				t.Errorf("%s is %s: %q\nwant %s: %q", r.gate, g.Outcome, g.Reason, r.want, r.reason)
			}
			if v.Outcome != r.want || v.RootGate != r.gate || v.Cause != r.cause {
				t.Errorf("verdict %s by %s, cause %q; want %s by %s, cause %q", v.Outcome, v.RootGate, v.Cause, r.want, r.gate, r.cause)
			}
			switch {
			case r.want == fail && (v.Reward == nil || *v.Reward != 0 || v.RewardBounds != [2]float64{0, 0}):
				t.Errorf("reward %v in %v", v.Reward, v.RewardBounds)
			case r.want == unv && (v.Reward != nil || v.RewardBounds != [2]float64{0, 1}):
				t.Errorf("reward %v in %v", v.Reward, v.RewardBounds)
			}
			for _, o := range v.Gates {
				switch {
				case o.Name == r.gate || o.Outcome == tare.Pass || o.Need != tare.Required:
				case o.Outcome == tare.Blocked && o.BlockedBy == r.gate && r.alsoBlocking:
				default:
					t.Errorf("gate %s is %s too, by %q: %s", o.Name, o.Outcome, o.BlockedBy, o.Reason)
				}
			}
		})
	}
}

// TestEveryVulnRuleCounts switches each rule off in turn: some row must then come out otherwise.
func TestEveryVulnRuleCounts(t *testing.T) {
	for _, rule := range VulnRules() {
		rest := slices.DeleteFunc(VulnRules(), func(r Rule) bool { return r.ID == rule.ID })
		missed := false
		for _, r := range vulnRows() {
			if r.rule != rule.ID {
				continue
			}
			task, rec := r.make()
			a, _ := JudgeWith(rest, task, rec).Gate(r.gate)
			b, _ := Judge(task, rec).Gate(r.gate)
			missed = missed || a.Outcome != b.Outcome
		}
		if !missed || rule.Why == "" {
			t.Errorf("without rule %s every row has its outcome still", rule.ID)
		}
	}
}

// TestVulnEmptied empties whatever of the evidence there is, one a time: nothing that was not observed makes a repair.
func TestVulnEmptied(t *testing.T) {
	whole := repaired()
	for i, c := range whole.Evidence.Vuln.Checks {
		for what, empty := range map[string]func(*tare.Check){
			"executions": func(c *tare.Check) { c.Executions = nil },
			"outputs": func(c *tare.Check) {
				for i := range c.Executions {
					c.Executions[i] = tare.Execution{ID: c.Executions[i].ID}
				}
			},
			"tests": func(c *tare.Check) { c.Tests = nil },
		} {
			rec := clone(whole)
			empty(&rec.Evidence.Vuln.Checks[i])
			v := Judge(aVuln(), rec)
			harmless := what == "tests" && (c.Kind != tare.CheckIntent || c.World == seed) || // there are none; on the seed, none that passed
				what == "outputs" && c.Kind == tare.CheckIntent && c.World == fix || // the report came
				what == "executions" && (c.Kind == tare.CheckBuild || c.Kind == tare.CheckDriver || c.Kind == tare.CheckIntent && c.World == fix) // no script, and reports that came
			if v.Outcome == tare.Pass && !harmless {
				t.Errorf("without %s of %s in %s it is still PASS", what, c.Kind, c.World)
			}
		}
		rec := clone(whole)
		rec.Evidence.Vuln.Checks = slices.Delete(rec.Evidence.Vuln.Checks, i, i+1)
		if v := Judge(aVuln(), rec); v.Outcome == tare.Pass {
			t.Errorf("without the check %s in %s it is still PASS", c.Kind, c.World)
		}
	}
}

// TestVulnTaskWithout judges tasks that lack a kind of data: the gate is NA and counts for nothing.
func TestVulnTaskWithout(t *testing.T) {
	task, rec := aVuln(), clone(repaired())
	task.Vuln.Intent = nil
	rec.Evidence.Vuln.Checks = slices.DeleteFunc(rec.Evidence.Vuln.Checks, func(c tare.Check) bool { return c.Kind == tare.CheckIntent })
	v := Judge(task, rec)
	if g, _ := v.Gate(intentGate); v.Outcome != tare.Pass || g.Outcome != tare.NotApplicable || g.Reason != "the task has none" {
		t.Errorf("without hidden tests: %s, %+v", v.Outcome, g)
	}
	made(tare.CheckFunction, fix, ok("hello", "x\n"))(&rec, task)
	if v := Judge(task, rec); v.Outcome != tare.Fail || v.RootGate != functionGate {
		t.Errorf("and a broken test: %s by %s", v.Outcome, v.RootGate)
	}
	task, rec = aVuln(), clone(repaired())
	task.Vuln.Function, task.Vuln.Benign = nil, nil
	if g, _ := Judge(task, rec).Gate(functionGate); g.Outcome != tare.NotApplicable {
		t.Errorf("without tests of the project: %+v", g)
	}
}

// TestVulnPrecedence has several gates fail: each says so, and the first decides. An empty patch is graded as any other.
func TestVulnPrecedence(t *testing.T) {
	task, rec := aVuln(), clone(repaired())
	rec.Evidence.Vuln.Patch.Empty, rec.Evidence.Changes = true, nil
	made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode"))(&rec, task)
	made(tare.CheckPoC, fix, faulty("deep", tare.SignPanic, "index out of range"))(&rec, task)
	test(fix, 0, func(t *tare.TestResult) { t.Outcome = tare.TestFailed })(&rec, task)
	made(tare.CheckFunction, fix, ok("hello", "x\n"))(&rec, task)
	v := Judge(task, rec)
	for _, name := range []string{pocsGate, intentGate, functionGate} {
		if g, _ := v.Gate(name); g.Outcome != fail {
			t.Errorf("%s is %s", name, g.Outcome)
		}
	}
	if g, _ := v.Gate(patchGate); v.RootGate != pocsGate || g.Outcome != tare.Pass || !strings.Contains(g.Reason, "empty") {
		t.Errorf("by %s; %+v", v.RootGate, g)
	}
	if g, _ := v.Gate(pocsGate); !strings.Contains(g.Reason, "2 of 2 PoCs") {
		t.Errorf("not all are counted: %s", g.Reason)
	}
	if g, _ := v.Gate(tare.GateClaims); g.Outcome != fail {
		t.Errorf("the claim that it is fixed: %+v", g)
	}
	// A PoC that triggers is evidence although another one's control does not hold.
	made(tare.CheckPoC, seed, ok("deep", ""))(&rec, task)
	if g, _ := Judge(task, rec).Gate(pocsGate); g.Outcome != fail || !strings.Contains(g.Reason, "1 of 2 PoCs") {
		t.Errorf("got %+v", g)
	}
}

// TestHole13HiddenTestsThatPassUnpatched: hidden tests that pass without a fix are no remark beside a pass: nothing follows from
// them, whatever the patched tree does.
func TestHole13HiddenTestsThatPassUnpatched(t *testing.T) {
	passes := test(seed, 0, func(t *tare.TestResult) { t.Outcome = tare.TestPassed })
	for name, spoil := range map[string]func(*tare.Record, *tare.Task){
		"and pass with it": func(*tare.Record, *tare.Task) {},
		"and fail with it": test(fix, 1, func(t *tare.TestResult) { t.Outcome = tare.TestFailed }),
	} {
		task, rec := aVuln(), clone(repaired())
		passes(&rec, task)
		spoil(&rec, task)
		v := Judge(task, rec)
		if g, _ := v.Gate(intentGate); v.Outcome != unv || v.RootGate != intentGate || g.Outcome != unv || v.Cause != byGrader {
			t.Errorf("hidden tests that pass without a fix %s: %s by %s for the %s, %+v", name, v.Outcome, v.RootGate, v.Cause, g)
		}
	}
}

// TestHang counts a run of more than the declared time as triggered, and no other limit as anything.
func TestHang(t *testing.T) {
	task, rec := aVuln(), clone(repaired())
	task.Vuln.PoCs[1].Triggers = tare.Trigger{Hang: time.Second}
	hung := ok("deep", "")
	hung.Ended = "wall"
	made(tare.CheckPoC, seed, hung)(&rec, task)
	if v := Judge(task, rec); v.Outcome != tare.Pass {
		t.Errorf("%s by %s", v.Outcome, v.RootGate)
	}
	made(tare.CheckPoC, fix, hung)(&rec, task)
	if g, _ := Judge(task, rec).Gate(pocsGate); g.Outcome != fail || !strings.Contains(g.Reason, "PoC deep still triggers: did not end") {
		t.Errorf("%+v", g)
	}
	hung.Ended = "memory"
	made(tare.CheckPoC, fix, hung)(&rec, task)
	if g, _ := Judge(task, rec).Gate(pocsGate); g.Outcome != unv {
		t.Errorf("%+v", g)
	}
}

// TestExplainVuln shows the check behind a gate beside its control, with untrusted bytes escaped and bounded.
func TestExplainVuln(t *testing.T) {
	task, rec := aVuln(), clone(repaired())
	made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode"))(&rec, task)
	c := checkIn(&rec, tare.CheckPoC, fix)
	c.Log, c.LogDigest = []byte(strings.Repeat("x", 1<<20)+"\n\x1b[31mred\n"), "sha256:log"
	text := Explain(task, rec, Judge(task, rec), pocsGate)
	for _, want := range []string{"poc of the patched tree", "poc of the unpatched tree", "sanitizer heap-buffer-overflow in decode", "long: ./tiny", "ended with status 1", "sha256:log", `\x1b[31mred`} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || len(text) > maxExplain {
		t.Errorf("%d bytes, escaped: %v", len(text), !strings.Contains(text, "\x1b"))
	}
	rec.Evidence.Vuln.Patch.Restored = []string{"tests/hello.out"}
	if text := Explain(task, rec, Judge(task, rec), tare.GateIntegrity); !strings.Contains(text, "put back tests/hello.out") {
		t.Error(text)
	}
	if text := Explain(task, rec, Judge(task, rec), patchGate); !strings.Contains(text, "modified decode.c") {
		t.Error(text)
	}
}

// TestCatch names the checks that show a fault by evidence of their own; one whose control does not hold shows nothing.
func TestCatch(t *testing.T) {
	broken := ok("build.sh", "")
	broken.Exit = 1
	for name, tt := range map[string]struct {
		spoil func(*tare.Record, *tare.Task)
		built bool
		want  []tare.CheckKind
	}{
		"nothing":        {func(*tare.Record, *tare.Task) {}, true, nil},
		"does not build": {made(tare.CheckBuild, fix, broken), false, nil},
		"PoC":            {made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode")), true, []tare.CheckKind{tare.CheckPoC}},
		"variant":        {made(tare.CheckVariant, fix, faulty("long/x", tare.SignSanitizer, "stack-overflow")), true, []tare.CheckKind{tare.CheckVariant}},
		"intent":         {test(fix, 0, func(t *tare.TestResult) { t.Outcome = tare.TestFailed }), true, []tare.CheckKind{tare.CheckIntent}},
		"function":       {made(tare.CheckFunction, fix, ok("hello", "x\n")), true, []tare.CheckKind{tare.CheckFunction}},
		"benign":         {made(tare.CheckBenign, fix, ok("good", "x\n")), true, []tare.CheckKind{tare.CheckBenign}},
		"a PoC of no use": {func(r *tare.Record, t *tare.Task) {
			made(tare.CheckPoC, fix, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode"))(r, t)
			made(tare.CheckPoC, seed, ok("long", ""))(r, t)
		}, true, nil},
		"tests of no use": {func(r *tare.Record, t *tare.Task) {
			made(tare.CheckFunction, fix, ok("hello", "x\n"))(r, t)
			made(tare.CheckFunction, seed, ok("hello", "x\n"))(r, t)
		}, true, nil},
	} {
		task, rec := aVuln(), clone(repaired())
		tt.spoil(&rec, task)
		if built, by := Catch(task, rec); built != tt.built || !slices.Equal(by, tt.want) {
			t.Errorf("%s: built %v, caught by %v; want %v, %v", name, built, by, tt.built, tt.want)
		}
	}
}
