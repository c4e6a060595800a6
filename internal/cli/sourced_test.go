package cli

import (
	"testing"

	"tare"
)

// TestSourcedOnce: a task that has the source of its module is not given it a second time, as when a plan is queued and then played.
func TestSourcedOnce(t *testing.T) {
	task := &tare.Task{ID: "s/t", Seed: tare.Tree{{Path: "a.go"}}, Vuln: &tare.VulnSpec{Module: &tare.ModuleSpec{Path: "none.invalid/m", Vulnerable: "v1.0.0", Fixed: "v1.0.1"}}}
	got, err := (&app{}).sourced(t.Context(), task)
	if err != nil || got != task {
		t.Errorf("got %v, %v", got, err)
	}
}
