package evidence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare"
)

// TestVulnCache: controls are made once for the same tree, task and tools, and again where anything differs, where what is kept
// was tampered with, or where one did not come out as it must.
func TestVulnCache(t *testing.T) {
	ctx, sb := opened(t)
	task := labels(t)
	fix := task.Seed.Overlay(task.References[0].Fix)
	dir := filepath.Join(t.TempDir(), "cache")
	cached := func(c *VulnCache, task *tare.Task) (cached, made int, ev tare.Evidence) {
		t.Helper()
		ev, err := GatherVuln(ctx, VulnRequest{Task: task, Final: fix, Sandbox: sb, Controls: true, Cache: c})
		if err != nil || len(ev.Problems) > 0 {
			t.Fatal(err, ev.Problems)
		}
		for _, c := range ev.Vuln.Checks {
			switch {
			case c.Cached && c.World == tare.WorldFix:
				t.Errorf("%s of the patched tree comes from the cache", c.Kind)
			case c.Cached:
				cached++
			case c.World != tare.WorldFix:
				made++
			}
		}
		return cached, made, ev
	}
	c := NewVulnCache(dir)
	if n, made, _ := cached(c, task); n != 0 || made != 7 {
		t.Errorf("at first: %d cached, %d made", n, made)
	}
	if n, made, _ := cached(c, task); n != 7 || made != 0 {
		t.Errorf("in memory: %d cached, %d made", n, made)
	}
	n, made, ev := cached(NewVulnCache(dir), task)
	if n != 7 || made != 0 {
		t.Errorf("on disk: %d cached, %d made", n, made)
	}
	if ok, _ := task.Vuln.PoCs[0].Triggers.Triggered(find(t, ev, tare.CheckPoC, tare.WorldSeed).Executions[0]); !ok {
		t.Error("what is kept does not trigger")
	}
	other := *task
	other.Hash = "sha256:other"
	if n, _, _ := cached(NewVulnCache(dir), &other); n != 0 {
		t.Errorf("another task: %d cached", n)
	}

	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 14 {
		t.Fatal(err, files)
	}
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch b := string(b); i % 3 {
		case 0:
			err = os.WriteFile(name, []byte(b[:len(b)/2]), 0o600)
		case 1:
			err = os.WriteFile(name, []byte(strings.Replace(b, "complete\":true", "complete\":false", 1)), 0o600)
		case 2: // another's
			other, rerr := os.ReadFile(files[(i+3)%len(files)])
			if rerr != nil {
				t.Fatal(rerr)
			}
			err = os.WriteFile(name, other, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, _, _ := cached(NewVulnCache(dir), task); n != 0 {
		t.Errorf("tampered with: %d cached", n)
	}

	wrong := *task
	spec := *task.Vuln
	wrong.Hash, wrong.Vuln = "sha256:wrong", &spec
	spec.PoCs = append([]tare.PoC{}, spec.PoCs...)
	spec.PoCs[0].Triggers.At = "elsewhere"
	c = NewVulnCache("")
	cached(c, &wrong)
	if n, made, _ := cached(c, &wrong); n != 5 || made != 2 { // the PoC and its variant
		t.Errorf("a control that fails: %d cached, %d made", n, made)
	}
}
