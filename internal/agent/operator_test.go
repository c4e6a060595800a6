package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/platform"
	"tare/internal/tools"
)

const operatorStart = `{
  "accounts": [{"id": "north", "max_instances": 9}],
  "principals": [{"id": "dana", "roles": {"north": "owner"}}],
  "apps": [
    {"id": "app_blog", "account_id": "north", "name": "blog"},
    {"id": "app_docs", "account_id": "north", "name": "docs"},
    {"id": "app_shop", "account_id": "north", "name": "shop", "status": "running", "desired_instances": 1, "current_release_id": "rel_1"}
  ],
  "releases": [{"id": "rel_1", "app_id": "app_shop", "version": 1, "image": "shop:1"}]
}`

func is(v string) map[string]tare.ArgMatch {
	return map[string]tare.ArgMatch{"app.running_instances": {Is: json.RawMessage(v)}}
}

// TestOperator plays scripts and says which calls they made and what they said.
func TestOperator(t *testing.T) {
	args := func(s string) json.RawMessage { return json.RawMessage(s) }
	find := tare.ScriptStep{Tool: "list_apps", Args: args(`{"page_size": 1}`), Take: map[string]string{"app": "apps[name=shop].id"}, Pages: "next_cursor"}
	scale := tare.ScriptStep{Tool: "scale_app", Args: args(`{"app_id": "{app}", "instances": 3, "reason": "for {app}"}`), Retry: true}
	for name, tt := range map[string]struct {
		faults []tare.FaultSpec
		script tare.AgentScript
		calls  string
		final  string
	}{
		"pages, values, waiting": {
			script: tare.AgentScript{Steps: []tare.ScriptStep{find, scale, {Tool: "get_app", Args: args(`{"app_id": "{app}"}`), Until: is("3"), Pause: 3}}, Final: "{app} runs on 3"},
			calls:  "list_apps list_apps list_apps scale_app get_app wait get_app wait get_app", final: "app_shop runs on 3",
		},
		"a stale cursor": {
			faults: []tare.FaultSpec{{Kind: tare.FaultStaleCursor, Tool: "list_apps", Nth: 1}},
			script: tare.AgentScript{Steps: []tare.ScriptStep{find}, Final: "found {app}"},
			calls:  "list_apps list_apps list_apps list_apps list_apps", final: "found app_shop",
		},
		"a page that is not there": {
			script: tare.AgentScript{Steps: []tare.ScriptStep{{Tool: "list_apps", Take: map[string]string{"app": "apps[name=wiki].id"}, Pages: "next_cursor", OrElse: "there is no wiki"}}, Final: "found"},
			calls:  "list_apps", final: "there is no wiki",
		},
		"503": {
			faults: []tare.FaultSpec{{Kind: tare.FaultUnavailable, Tool: "scale_app", Nth: 1, Times: 2, RetryAfter: 4 * time.Second}},
			script: tare.AgentScript{Steps: []tare.ScriptStep{find, scale}, Final: "done"},
			calls:  "list_apps list_apps list_apps scale_app wait scale_app wait scale_app", final: "done",
		},
		"what may not be tried again": {
			faults: []tare.FaultSpec{{Kind: tare.FaultConflict, Tool: "scale_app", Nth: 1}},
			script: tare.AgentScript{Steps: []tare.ScriptStep{{Tool: "scale_app", Args: args(`{"app_id": "app_shop", "instances": 3}`), Retry: true, OrElse: "it could not be scaled"}}, Final: "done"},
			calls:  "scale_app", final: "it could not be scaled",
		},
		"never so": {
			script: tare.AgentScript{Steps: []tare.ScriptStep{{Tool: "get_app", Args: args(`{"app_id": "app_shop"}`), Until: is("3"), Most: 2, OrElse: "it never came to be"}}, Final: "done"},
			calls:  "get_app get_app", final: "it never came to be",
		},
		"conditions": {
			script: tare.AgentScript{Steps: []tare.ScriptStep{
				{Tool: "list_apps", Take: map[string]string{"app": "apps[name=shop].id", "other": "apps[name=wiki].id"}},
				{Tool: "whoami", IfTaken: "other"}, {Tool: "list_prices", IfTaken: "app"}, {Tool: "list_domains", IfNotTaken: "other"}, {Tool: "list_databases", IfNotTaken: "app"},
			}, Final: ""},
			calls: "list_apps list_prices list_domains",
		},
		"again and again, and a tool that is not there": {
			script: tare.AgentScript{Steps: []tare.ScriptStep{{Tool: "create_release", Args: args(`{"app_id": "app_shop", "image": "i"}`), Most: 3}, {Tool: "fly"}}, Final: "done"},
			calls:  "create_release create_release create_release fly", final: "done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &tare.ScenarioSpec{World: tare.WorldSpec{Simulator: &tare.SimulatorSpec{Start: json.RawMessage(operatorStart), As: "dana", Clock: time.Unix(1e9, 0), Faults: tt.faults}}}
			p, err := platform.New(platform.Config{Spec: *spec.World.Simulator})
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			s, err := tools.ServeStage(t.Context(), tools.StageConfig{
				Spec: spec, Backend: tools.Simulated(p), NewDir: func(string) (string, error) { return t.TempDir(), nil },
				OnStep: func(s tare.Step) { calls = append(calls, s.Call.Tool) },
			})
			if err != nil {
				t.Fatal(err)
			}
			end, err := Operator("it", tt.script).Play(t.Context(), tare.Brief{}, World{Socket: s.Socket})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Ending{Stop: tare.EndTurn, Final: tt.final}, end); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(calls, " "); got != tt.calls {
				t.Errorf("calls %s\nwant  %s", got, tt.calls)
			}
		})
	}
}
