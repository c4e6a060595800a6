package proof_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/check"
	"tare/internal/evidence"
	"tare/internal/proof"
	"tare/internal/sandbox"
	"tare/internal/suite"
)

// chance is what two runs of the same print differently: times, addresses, names of temporary files.
var chance = regexp.MustCompile(`in \d+\.\d+s|0x[0-9a-f]+|/tmp/[\w./-]+`)

// progress stands where a line is full or a file ends, and so where the sentinels are not.
var progress = regexp.MustCompile(` *\[ *\d+%\]`)

// TestWarmEvidence gathers the evidence of controls, warm and cold: it is the same. Of a ticket it takes one control of each
// origin; with TARE_TEST_ALL set, every control of four, which takes some minutes.
func TestWarmEvidence(t *testing.T) {
	tickets := []string{"bugfix_inventory"}
	all := os.Getenv("TARE_TEST_ALL") != ""
	if all {
		tickets = append(tickets, "ledger_transfer_rollback", "calendar_booking_overlap", "lru_cache_eviction_invariant")
	}
	boxes := map[bool]sandbox.Sandbox{}
	for _, cold := range []bool{false, true} {
		sb, err := sandbox.Open(t.Context(), sandbox.Options{InMemory: true, Cold: cold})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		boxes[cold] = sb
	}
	if got := boxes[false].Isolation(); got != sandbox.IsolationBwrap {
		t.Skipf("isolation %s has no warm runs", got)
	}
	for _, name := range tickets {
		task, err := suite.LoadTask(filepath.Join("..", "..", "suites", "tickets", name))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[tare.Digest]bool{}
		origins := map[string]bool{}
		for _, c := range proof.Controls(task, nil) {
			final := c.Solution(task.Seed)
			if seen[final.Digest()] { // an agent whose work is another row's as well
				continue
			}
			seen[final.Digest()] = true
			origin := string(c.Origin) + map[bool]string{true: " with a test"}[strings.HasSuffix(c.Name, "+test")]
			if origins[origin] && !all {
				continue
			}
			origins[origin] = true
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				warm, runs := gather(t, boxes[false], task, final)
				cold, _ := gather(t, boxes[true], task, final)
				if d := cmp.Diff(cold, warm); d != "" {
					t.Errorf("cold and warm (-cold +warm):\n%s", d)
				}
				if runs == 0 {
					t.Error("no run was warm")
				}
			})
		}
	}
}

// gather is the evidence as lines of JSON, less what is left to chance, and how many runs of it were warm.
func gather(t *testing.T, sb sandbox.Sandbox, task *tare.Task, final tare.Tree) ([]string, int) {
	t.Helper()
	ev, err := evidence.Gather(t.Context(), evidence.Request{Task: task, Final: final, Sandbox: sb, Runner: check.Pytest{}})
	if err != nil {
		t.Fatal(err)
	}
	warm := 0
	var out []string
	for i := range ev.Runs {
		if ev.Runs[i].Warm {
			warm++
		}
		ev.Runs[i].Warm, ev.Runs[i].Seconds = false, 0
		out = append(out, chance.ReplaceAllString(progress.ReplaceAllString(string(ev.Runs[i].Output), ""), "CHANCE"))
		ev.Runs[i].Output = nil
	}
	b, err := json.MarshalIndent(ev, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, strings.Split(chance.ReplaceAllString(string(b), "CHANCE"), "\n")...), warm
}
