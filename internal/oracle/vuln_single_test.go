package oracle

import (
	"strings"
	"testing"

	"tare"
)

// TestJudgeSingle: each check by itself, passed and in the ways in which it is not.
func TestJudgeSingle(t *testing.T) {
	started := func(change func(*tare.Execution)) tare.Execution {
		e := ok("long", "")
		change(&e)
		return e
	}
	passedTests := []tare.TestResult{{ID: "t_test.go::TestLong", Outcome: tare.TestPassed}, {ID: "t_test.go::TestShort", Outcome: tare.TestPassed}}
	one := func(kind tare.CheckKind, e ...tare.Execution) tare.Check {
		return tare.Check{Kind: kind, Complete: true, Executions: e}
	}
	for name, tt := range map[string]struct {
		check tare.Check
		why   string // "" for passed
	}{
		"build":           {one(tare.CheckBuild, ok("build.sh", "")), ""},
		"no build":        {one(tare.CheckBuild, started(func(e *tare.Execution) { e.ID, e.Exit = "build.sh", 1 })), "build.sh ended with status 1"},
		"driver":          {one(tare.CheckDriver, ok("driver.sh", "")), ""},
		"PoC":             {one(tare.CheckPoC, ok("long", "")), ""},
		"triggers":        {one(tare.CheckPoC, faulty("long", tare.SignSanitizer, "heap-buffer-overflow", "decode")), "still triggers"},
		"another fault":   {one(tare.CheckPoC, faulty("long", tare.SignSanitizer, "heap-use-after-free", "decode")), "another fault"},
		"died":            {one(tare.CheckPoC, started(func(e *tare.Execution) { e.Exit, e.Signal = -1, "SIGSEGV" })), "died of SIGSEGV"},
		"not started":     {one(tare.CheckPoC, started(func(e *tare.Execution) { e.Started = false })), "did not start"},
		"no sanitizer":    {one(tare.CheckPoC, started(func(e *tare.Execution) { e.Defect = "no sanitizer in it" })), "no sanitizer"},
		"limit":           {one(tare.CheckPoC, started(func(e *tare.Execution) { e.Ended = "wall" })), "wall limit"},
		"not run":         {one(tare.CheckPoC), "not run"},
		"another's":       {one(tare.CheckPoC, ok("else", "")), "none of the task's"},
		"cases":           {one(tare.CheckFunction, ok("hello", "hello\n")), ""},
		"cases differ":    {one(tare.CheckFunction, ok("hello", "good bye\n")), "1 test did not pass"},
		"cases not run":   {one(tare.CheckFunction), "1 test did not pass"},
		"hidden":          {tare.Check{Kind: tare.CheckIntent, Complete: true, Tests: passedTests}, ""},
		"hidden, half":    {tare.Check{Kind: tare.CheckIntent, Tests: passedTests, Defect: "no end mark"}, "no end mark"},
		"hidden, gone":    {tare.Check{Kind: tare.CheckIntent, Complete: true, Tests: passedTests[:1]}, "1 test did not pass"},
		"not one of ours": {one(tare.CheckBenign, ok("good", "fine\n")), "no check of its kind"},
	} {
		got := JudgeSingle(aVuln(), tt.check)
		if got.Passed != (tt.why == "") || !strings.Contains(got.Why, tt.why) {
			t.Errorf("%s: %+v, want %q", name, got, tt.why)
		}
	}
}
