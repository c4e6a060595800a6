package cli

import (
	"context"
	"io"
	"strings"
	"testing"
)

// TestProofLetsGo proves a row of two tasks: what is kept for the episodes of a task is gone with the last of them.
func TestProofLetsGo(t *testing.T) {
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, quiet: true, backend: "bwrap", state: t.TempDir()}
	tasks, err := a.tasks([]string{"tickets/bugfix_inventory", "tickets/lru_cache_eviction_invariant"})
	if err != nil {
		t.Fatal(err)
	}
	err = a.withRig(t.Context(), func(ctx context.Context, r *rig) error {
		tables, err := a.proveTasks(ctx, r, tasks, proofFlags{jobs: 1, passes: 1, rows: []string{"seed"}})
		for _, table := range tables {
			if !table.OK() {
				t.Errorf("%s: %+v", table.Task, table.Rows)
			}
		}
		if n := len(r.scanners); n > 0 {
			t.Errorf("%d leak scanners are kept of %d tasks that were proven", n, len(tasks))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
