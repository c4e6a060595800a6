package evidence

import (
	"reflect"
	"strings"
	"testing"

	"tare"
)

// TestVulnSharedRuns: within one pass what is the same to the byte is run once, and comes out as it would have by itself; another
// input, another tree and another pass have runs of their own, and a grade's are all made.
func TestVulnSharedRuns(t *testing.T) {
	ctx, sb := opened(t)
	task := labels(t)
	fix := task.Seed.Overlay(task.References[0].Fix)
	builds := NewVulnBuilds(sb)
	pass := NewVulnCache("").WithBuilds(builds).WithSharedRuns()
	observe := func(final tare.Tree, c *VulnCache) (ev tare.Evidence, made, reused map[tare.CheckKind]int) {
		t.Helper()
		ev, err := GatherVuln(ctx, VulnRequest{Task: task, Final: final, Sandbox: sb, Controls: true, Cache: c})
		if err != nil || len(ev.Problems) > 0 {
			t.Fatal(err, ev.Problems)
		}
		made, reused = map[tare.CheckKind]int{}, map[tare.CheckKind]int{}
		for _, c := range ev.Vuln.Checks {
			for i := range c.Executions {
				if e := &c.Executions[i]; c.World != tare.WorldFix {
				} else if e.Reused {
					reused[c.Kind]++
					e.Reused = false
				} else {
					made[c.Kind]++
				}
			}
		}
		return ev, made, reused
	}
	ev, made, reused := observe(fix, pass)
	if reused[tare.CheckPoC] != 0 || made[tare.CheckPoC] != 2 || made[tare.CheckVariant] != 1 || made[tare.CheckFunction] != 1 {
		t.Errorf("of the first tree: made %v, reused %v", made, reused)
	}
	if pocs := find(t, ev, tare.CheckPoC, tare.WorldSeed).Executions; len(pocs[0].Signs) == 0 || len(pocs[1].Signs) == 0 || pocs[0].ID == pocs[1].ID {
		t.Errorf("two inputs came out as one: %+v", pocs)
	}

	ev, made, reused = observe(task.Seed, pass) // as the unpatched tree beside the first
	if reused[tare.CheckPoC] != 2 || reused[tare.CheckIntent] != 1 || reused[tare.CheckFunction] != 1 || made[tare.CheckPoC]+made[tare.CheckIntent]+made[tare.CheckFunction] != 0 {
		t.Errorf("of a tree that was seen: made %v, reused %v", made, reused)
	}
	for _, kind := range []tare.CheckKind{tare.CheckPoC, tare.CheckIntent, tare.CheckFunction} {
		a, b := find(t, ev, kind, tare.WorldFix), find(t, ev, kind, tare.WorldSeed)
		for i := range a.Executions {
			if x, y := a.Executions[i], b.Executions[i]; !reflect.DeepEqual(x, y) {
				t.Errorf("%s %s came out otherwise:\n%+v\n%+v", kind, x.ID, x, y)
			}
		}
		if string(a.Log) != string(b.Log) || a.LogDigest != b.LogDigest {
			t.Errorf("%s has another log: %q, %q", kind, a.Log, b.Log)
		}
	}

	changed, _ := task.Seed.Lookup("labels.c")
	changed.Data = []byte(strings.Replace(string(changed.Data), "\n", "\n\n", 1))
	for name, how := range map[string]struct {
		final tare.Tree
		cache *VulnCache
	}{
		"another tree": {task.Seed.Overlay(tare.Tree{changed}), pass},
		"another pass": {task.Seed, NewVulnCache("").WithBuilds(builds).WithSharedRuns()},
		"a grade":      {task.Seed, NewVulnCache("")},
	} {
		// the unpatched tree beside it may be the first to run what both do
		ev, made, _ := observe(how.final, how.cache)
		seed := 0
		for _, e := range find(t, ev, tare.CheckPoC, tare.WorldSeed).Executions {
			if !e.Reused && !find(t, ev, tare.CheckPoC, tare.WorldSeed).Cached {
				seed++
			}
		}
		want := 2
		if name == "a grade" {
			want = 4
		}
		if got := made[tare.CheckPoC] + seed; got != want {
			t.Errorf("%s: %d PoCs were run, want %d", name, got, want)
		}
	}
}
