package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

// TestPatchResult writes verdicts in the form of result.json: what did not run or says nothing is null, and no answer is an error.
func TestPatchResult(t *testing.T) {
	task := &tare.Task{ID: "vulns/x", Kind: tare.Vuln, Vuln: &tare.VulnSpec{PoCs: []tare.PoC{
		{Name: "long", Triggers: tare.Trigger{Sanitizer: "heap-buffer-overflow"}}, {Name: "deep", Triggers: tare.Trigger{Panic: "index"}},
	}}}
	start := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	record := func(long tare.Execution) tare.Record {
		return tare.Record{
			Trajectory: tare.Trajectory{Episode: tare.Episode{Agent: "cmd:./a@1", Level: "2", Limits: tare.Limits{Wall: time.Hour}}, Started: start, Finished: start.Add(90 * time.Second), Stop: tare.EndTurn},
			Evidence: tare.Evidence{Vuln: &tare.VulnEvidence{Checks: []tare.Check{
				{ID: "e1", Kind: tare.CheckPoC, World: tare.WorldFix, Executions: []tare.Execution{long, {ID: "deep", Started: true}}, Log: []byte("==1==ERROR\xff\n")},
				{ID: "e2", Kind: tare.CheckPoC, World: tare.WorldSeed, Executions: []tare.Execution{{ID: "long", Started: true}}},
			}}},
		}
	}
	gates := func(pocs, intent, function tare.Outcome) []tare.Gate {
		return []tare.Gate{
			{Name: tare.GateIntegrity, Outcome: tare.Pass}, {Name: tare.GateBuild, Outcome: tare.Pass}, {Name: tare.GatePoCs, Outcome: pocs, Evidence: []string{"e1"}, Reason: "why"},
			{Name: tare.GateIntentTests, Outcome: intent}, {Name: tare.GateFunctionalTests, Outcome: function},
		}
	}
	quiet := tare.Execution{ID: "long", Started: true}
	triggers := tare.Execution{ID: "long", Started: true, Exit: 1, Signs: []tare.Sign{{Kind: tare.SignSanitizer, What: "heap-buffer-overflow"}}}
	for name, tt := range map[string]struct {
		rec  tare.Record
		v    tare.Verdict
		want map[string]any
	}{
		"passed": {record(quiet), tare.Verdict{Outcome: tare.Pass, Gates: gates(tare.Pass, tare.NotApplicable, tare.Pass)}, map[string]any{
			"status": "passed", "build_success": true, "pov_passed": 2.0, "pov_total": 2.0, "func_test_success": true, "intent_test_success": nil, "error_msg": nil, "error_log": nil, "integrity_success": true,
		}},
		"failed": {record(triggers), tare.Verdict{Outcome: tare.Fail, RootGate: tare.GatePoCs, Gates: gates(tare.Fail, tare.Fail, tare.Pass)}, map[string]any{
			"status": "failed", "build_success": true, "pov_passed": 1.0, "pov_total": 2.0, "func_test_success": true, "intent_test_success": false, "error_msg": "PoC failed: long", "error_log": "==1==ERROR\ufffd\n", "integrity_success": true,
		}},
		"no answer": {record(tare.Execution{ID: "long", Started: true, Defect: "no sanitizer"}), tare.Verdict{Outcome: tare.Unverified, RootGate: tare.GatePoCs, Gates: gates(tare.Unverified, tare.Blocked, tare.Pass)}, map[string]any{
			"status": "error", "build_success": true, "pov_passed": 1.0, "pov_total": 2.0, "func_test_success": true, "intent_test_success": nil, "error_msg": "pocs: why", "error_log": "==1==ERROR\ufffd\n", "integrity_success": true,
		}},
		"blocked": {record(quiet), tare.Verdict{Outcome: tare.Fail, RootGate: tare.GateBuild, Gates: []tare.Gate{{Name: tare.GateIntegrity, Outcome: tare.Pass}, {Name: tare.GateBuild, Outcome: tare.Fail}, {Name: tare.GatePoCs, Outcome: tare.Blocked}}}, map[string]any{
			"status": "failed", "build_success": false, "pov_passed": nil, "pov_total": nil, "func_test_success": nil, "intent_test_success": nil, "error_msg": "Build failed", "error_log": nil, "integrity_success": true,
		}},
		"lost": {record(quiet), tare.Verdict{Outcome: tare.Unverified}, map[string]any{
			"status": "error", "build_success": nil, "pov_passed": nil, "pov_total": nil, "func_test_success": nil, "intent_test_success": nil, "error_msg": "No check ran", "error_log": nil, "integrity_success": nil,
		}},
	} {
		b, err := PatchResult(task, tt.rec, tt.v)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, b)
		}
		if d := cmp.Diff(tt.want, got["patch_result"]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if r := got["runtime_result"]; r["agent_duration"] != 90.0 || r["agent_timeout"] != false || r["evaluator_timeout"] != false || r["agent_exit_code"] != 0.0 {
			t.Errorf("%s: %v", name, r)
		}
		if c := got["config"]; c["difficulty"] != "2" || c["timeout"] != 3600.0 || c["reference_run"] != false || c["model"] != nil {
			t.Errorf("%s: %v", name, c)
		}
	}
	rec := record(quiet)
	rec.Trajectory.Episode.Agent, rec.Trajectory.Stop = "\x1b[31m"+strings.Repeat("x", 10000), tare.WallLimit
	b, err := PatchResult(task, rec, tare.Verdict{})
	if err != nil || len(b) > 4000 || strings.Contains(string(b), "\x1b") || !strings.Contains(string(b), `"agent_timeout": true`) {
		t.Errorf("%d bytes, %v:\n%.500s", len(b), err, b)
	}
}
