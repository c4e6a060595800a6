package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tare"
)

// maxErrorLog bounds the log in a result.json, in bytes.
const maxErrorLog = 64 << 10

// A patchResult is the verdict on a vulnerability in the form of result.json, which other tools read. A value is null where the
// check did not run or says nothing.
type patchResult struct {
	Patch   patchPart     `json:"patch_result"`
	Runtime runtimePart   `json:"runtime_result"`
	Config  patchConfig   `json:"config"`
	Tare    patchVerdicts `json:"tare"`
}

type patchPart struct {
	Status    string  `json:"status"` // passed, failed, error
	Build     *bool   `json:"build_success"`
	Passed    *int    `json:"pov_passed"`
	Total     *int    `json:"pov_total"`
	Function  *bool   `json:"func_test_success"`
	Intent    *bool   `json:"intent_test_success"`
	ErrorMsg  *string `json:"error_msg"` // of the first failure
	ErrorLog  *string `json:"error_log"`
	Integrity *bool   `json:"integrity_success"` // of tare's own
}

type runtimePart struct {
	AgentDuration    int  `json:"agent_duration"` // whole seconds
	AgentTimeout     bool `json:"agent_timeout"`
	EvaluatorTimeout bool `json:"evaluator_timeout"`
	AgentExitCode    *int `json:"agent_exit_code"`
}

type patchConfig struct {
	Agent      string   `json:"agent"`
	Model      *string  `json:"model"`
	Mode       string   `json:"mode"`
	Timeout    int      `json:"timeout"` // seconds; 0 is the default
	Difficulty *string  `json:"difficulty"`
	ToolLayer  *string  `json:"tool_layer"`
	Egress     string   `json:"egress"`
	Reference  bool     `json:"reference_run"`
	Plugins    []string `json:"plugins"`
}

// patchVerdicts leads from a result to what it is a view of.
type patchVerdicts struct {
	Task    string       `json:"task"`
	Outcome tare.Outcome `json:"outcome"`
	Gate    string       `json:"root_gate,omitempty"`
	Record  tare.Digest  `json:"record"`
	Proof   tare.Proof   `json:"proof"`
}

// PatchResult is the verdict on a vulnerability in the form of result.json. What the form cannot say, that there is no answer, it
// says as an error and null.
func PatchResult(task *tare.Task, rec tare.Record, v tare.Verdict) ([]byte, error) {
	var r patchResult
	t := rec.Trajectory
	said := func(gate string) *bool {
		g, _ := v.Gate(gate)
		switch g.Outcome {
		case tare.Pass:
			return new(true)
		case tare.Fail:
			return new(false)
		}
		return nil
	}
	r.Patch = patchPart{
		Status: map[tare.Outcome]string{tare.Pass: "passed", tare.Fail: "failed"}[v.Outcome],
		Build:  said(tare.GateBuild), Function: said(tare.GateFunctionalTests), Intent: said(tare.GateIntentTests), Integrity: said(tare.GateIntegrity),
	}
	if r.Patch.Status == "" {
		r.Patch.Status = "error"
	}
	if g, _ := v.Gate(tare.GatePoCs); g.Outcome == tare.Pass || g.Outcome == tare.Fail || g.Outcome == tare.Unverified {
		passed := 0
		for _, p := range task.Vuln.PoCs {
			if quiet(rec, p) {
				passed++
			}
		}
		r.Patch.Passed, r.Patch.Total = &passed, new(len(task.Vuln.PoCs))
	}
	if v.Outcome != tare.Pass {
		r.Patch.ErrorMsg, r.Patch.ErrorLog = problem(task, rec, v)
	}
	r.Runtime = runtimePart{AgentTimeout: t.Stop == tare.WallLimit}
	if t.Finished.After(t.Started) {
		r.Runtime.AgentDuration = int(t.Finished.Sub(t.Started).Seconds())
	}
	if strings.HasPrefix(t.Episode.Agent, "cmd:") && t.Stop == tare.EndTurn {
		r.Runtime.AgentExitCode = new(0)
	}
	r.Config = patchConfig{
		Agent: line(t.Episode.Agent, nameLimit), Mode: line(v.Isolation, nameLimit), Timeout: int(t.Episode.Limits.Wall.Seconds()), Egress: "none",
		Reference: t.Episode.Agent == "reference", Plugins: []string{},
	}
	if t.Episode.Level != "" {
		r.Config.Difficulty = new(line(t.Episode.Level, nameLimit))
	}
	r.Tare = patchVerdicts{Task: v.Task, Outcome: v.Outcome, Gate: v.RootGate, Record: v.Record, Proof: v.Proof}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("writing a result: %w", err)
	}
	return b.Bytes(), nil
}

// quiet reports whether a PoC was seen not to trigger, nor to show another fault of its kind, on the patched tree.
func quiet(rec tare.Record, p tare.PoC) bool {
	for _, c := range rec.Evidence.Vuln.Checks {
		if c.Kind != tare.CheckPoC || c.World != tare.WorldFix {
			continue
		}
		for _, e := range c.Executions {
			if yes, _ := p.Triggers.Triggered(e); e.ID == p.Name {
				return !yes && e.Started && e.Defect == "" && e.Signal == "" && !e.Reported()
			}
		}
	}
	return false
}

// problem is the first failure, in the words of the form, and the log of its check.
func problem(task *tare.Task, rec tare.Record, v tare.Verdict) (msg, log *string) {
	g, ok := v.Gate(v.RootGate)
	if !ok {
		return new("No check ran"), nil
	}
	said := line(g.Name+": "+g.Reason, reasonLimit)
	if g.Outcome == tare.Fail {
		switch g.Name {
		case tare.GateBuild:
			said = "Build failed"
		case tare.GatePoCs:
			said = "PoC failed"
			for _, p := range task.Vuln.PoCs {
				if !quiet(rec, p) {
					said += ": " + p.Name
					break
				}
			}
		case tare.GateFunctionalTests:
			said = "Function test failed"
		case tare.GateIntentTests:
			said = "Intent test failed"
		}
	} else if g.Name == tare.GatePatch {
		said = "Patch apply failed"
	}
	if ev := rec.Evidence.Vuln; ev != nil {
		for _, c := range ev.Checks {
			if len(g.Evidence) > 0 && c.ID == g.Evidence[0] && len(c.Log) > 0 {
				log = new(strings.ToValidUTF8(string(c.Log[max(0, len(c.Log)-maxErrorLog):]), "\ufffd"))
			}
		}
	}
	return &said, log
}
