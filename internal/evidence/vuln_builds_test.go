package evidence

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tare"
	"tare/internal/check"
)

// TestVulnEndsWhereDecided: of a tree in which the flaw is left, all PoCs and tests are made, and nothing more of what they have
// decided; of one that only variants show to be wrong, no variant after the first that does, whatever ran beside it.
func TestVulnEndsWhereDecided(t *testing.T) {
	task := labels(t)
	for _, n := range []int{20, 30, 50} {
		task.Vuln.Variants = append(task.Vuln.Variants, tare.Input{Name: "v" + strings.Repeat("x", n), Of: "long", Data: []byte(label(strings.Repeat("c", n)))})
	}
	task.Vuln.Function.Cases[0].Stdout = []byte("something else\n")
	ev := gatherVuln(t, task, task.Seed, false)
	for kind, want := range map[tare.CheckKind]int{tare.CheckPoC: 2, tare.CheckIntent: 1, tare.CheckFunction: 1, tare.CheckVariant: 0, tare.CheckBenign: 0} {
		c := find(t, ev, kind, tare.WorldFix)
		if !c.Complete || len(c.Executions) != want || (c.Defect != "") != (want == 0) {
			t.Errorf("%s: %d runs, %v, %q", kind, len(c.Executions), c.Complete, c.Defect)
		}
	}

	ctx, sb := opened(t) // a mutant, of which the first of each kind that shows a fault is enough, is asked no more than that
	ev, err := GatherVuln(ctx, VulnRequest{Task: task, Final: task.Seed, Sandbox: sb, Jobs: 1, UntilFault: true})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[tare.CheckKind]int{tare.CheckPoC: 1, tare.CheckIntent: 1, tare.CheckFunction: 1, tare.CheckVariant: 0, tare.CheckBenign: 0} {
		if c := find(t, ev, kind, tare.WorldFix); !c.Complete || len(c.Executions) != want {
			t.Errorf("of a mutant, %s: %d runs, %v, %q", kind, len(c.Executions), c.Complete, c.Defect)
		}
	}

	// the PoCs are refused by their lengths, and so is the first variant
	refuses, _ := task.Seed.Lookup("labels.c")
	const loop = "    for (i = 0; i < n; i++)"
	refuses.Data = []byte(strings.Replace(string(refuses.Data), loop, "    if (n == 40 || n == 16 || n == 17 || n == 20)\n        return -1;\n"+loop, 1))
	ev = gatherVuln(t, task, task.Seed.Overlay(tare.Tree{refuses}), false)
	c := find(t, ev, tare.CheckVariant, tare.WorldFix)
	if len(c.Executions) != 3 || c.Executions[2].ID != "long/v"+strings.Repeat("x", 30) || len(c.Executions[2].Signs) == 0 || !strings.Contains(c.Defect, "3 of 4") {
		t.Errorf("variants: %q, %+v", c.Defect, c.Executions)
	}
}

// TestVulnBuilds: a build is made once for what is the same in all that it rests on, and comes back as it was; what runs is run.
func TestVulnBuilds(t *testing.T) {
	ctx, sb := opened(t)
	task := labels(t)
	fix := task.Seed.Overlay(task.References[0].Fix)
	builds := NewVulnBuilds(sb)
	observe := func(task *tare.Task, final tare.Tree) tare.Evidence {
		t.Helper()
		ev, err := GatherVuln(ctx, VulnRequest{Task: task, Final: final, Sandbox: sb, Controls: true, Cache: NewVulnCache("").WithBuilds(builds)})
		if err != nil || len(ev.Problems) > 0 {
			t.Fatal(err, ev.Problems)
		}
		return ev
	}
	kept := func() int {
		files, err := os.ReadDir(filepath.Join(sb.StateDir(), vulnBuilt))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	first := observe(task, fix)
	if n := kept(); n != 3 { // patched and unpatched are looked at, the reference is not
		t.Errorf("%d builds are kept", n)
	}
	again := observe(task, fix)
	if n := kept(); n != 3 {
		t.Errorf("of the same trees %d builds are kept", n)
	}
	for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed} {
		a, b := find(t, first, tare.CheckBuild, w), find(t, again, tare.CheckBuild, w)
		if a.ID, b.ID = "", ""; !reflect.DeepEqual(a, b) {
			t.Errorf("the build of the %s came back otherwise:\n%+v\n%+v", w, a, b)
		}
		if a, b := find(t, first, tare.CheckPoC, w), find(t, again, tare.CheckPoC, w); a.Seconds == b.Seconds {
			t.Errorf("PoCs of the %s were not run again", w)
		}
	}
	if ok, _ := task.Vuln.PoCs[0].Triggers.Triggered(find(t, again, tare.CheckPoC, tare.WorldSeed).Executions[0]); !ok {
		t.Error("what is kept does not trigger")
	}
	other := *task
	other.Hash = "sha256:other"
	if observe(&other, fix); kept() != 6 {
		t.Errorf("of another task %d builds are kept in all", kept())
	}
	broken := fix.Overlay(tare.Tree{{Path: "labels.c", Mode: 0o644, Data: []byte("not C\n")}})
	if observe(task, broken); kept() != 6 {
		t.Error("a build that failed is kept")
	}
	for i := range maxVulnBuilt + 3 {
		s := check.Subject{Script: tare.Script{Text: strings.Repeat("x", i+1)}}
		key, err := builds.key("sha256:many", s)
		if err == nil {
			err = builds.keep(key, check.Built{OK: true})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := kept(); n != maxVulnBuilt {
		t.Errorf("%d builds are kept, of at most %d", n, maxVulnBuilt)
	}
}
