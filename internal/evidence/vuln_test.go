package evidence

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// opened is a sandbox for one test.
func opened(t *testing.T) (context.Context, sandbox.Sandbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	sb, err := sandbox.Open(ctx, sandbox.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, sb
}

func read(t testing.TB, dir string) tare.Tree {
	t.Helper()
	tr, err := workspace.Read(dir, workspace.ReadLimits{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func label(s string) string { return string(rune(len(s))) + s }

// labels is a small task in C: a label that is too long is written past the end of its buffer.
func labels(t testing.TB) *tare.Task {
	t.Helper()
	build, err := os.ReadFile("testdata/labels/build.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := []string{"./labels", tare.InputWord}
	over := tare.Trigger{Sanitizer: "heap-buffer-overflow", At: "decode_label"}
	return &tare.Task{
		ID: "test/labels", Kind: tare.Vuln, Hash: "sha256:labels", Seed: read(t, "testdata/labels/seed"),
		References: []tare.Reference{{Name: "a", Fix: read(t, "testdata/labels/fix")}},
		Limits:     tare.Limits{Check: 20 * time.Second},
		Vuln: &tare.VulnSpec{
			Language: "c", Build: tare.Script{Name: "scripts/build.sh", Text: string(build)},
			PoCs: []tare.PoC{
				{Name: "long", Command: run, Input: []byte(label(strings.Repeat("a", 40))), Triggers: over},
				{Name: "just", Command: []string{"./labels"}, Stdin: true, Input: []byte(label("ok") + label(strings.Repeat("b", 16))), Triggers: over},
			},
			Variants: []tare.Input{{Name: "v1", Of: "long", Data: []byte(label(strings.Repeat("c", 17)))}},
			Benign:   &tare.Benign{Command: run, Inputs: []tare.Input{{Name: "b1", Data: []byte(label("one") + label("two"))}}},
			Intent: &tare.TestSet{Runner: "cases", IDs: []string{"refused"}, Cases: []tare.ProgramCase{
				{ID: "refused", Command: []string{"./labels"}, Stdin: []byte(label(strings.Repeat("d", 16))), Exit: 2},
			}},
			Function: &tare.TestSet{Runner: "cases", IDs: []string{"two"}, Cases: []tare.ProgramCase{
				{ID: "two", Command: []string{"./labels"}, Stdin: []byte(label("x") + label("y")), Stdout: []byte("x\ny\n")},
			}},
		},
	}
}

func find(t *testing.T, ev tare.Evidence, kind tare.CheckKind, world tare.World) tare.Check {
	t.Helper()
	i := slices.IndexFunc(ev.Vuln.Checks, func(c tare.Check) bool { return c.Kind == kind && c.World == world })
	if i < 0 {
		b, _ := json.MarshalIndent(ev, "", " ")
		t.Fatalf("no check %s of %s in %s", kind, world, b)
	}
	return ev.Vuln.Checks[i]
}

func gatherVuln(t *testing.T, task *tare.Task, final tare.Tree, controls bool) tare.Evidence {
	t.Helper()
	ctx, sb := opened(t)
	ev, err := GatherVuln(ctx, VulnRequest{Task: task, Final: final, Sandbox: sb, Controls: controls})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// TestGatherVuln: of a right fix nothing is triggered, while on the unpatched tree beside it each PoC is, at its place.
func TestGatherVuln(t *testing.T) {
	task := labels(t)
	ev := gatherVuln(t, task, task.Seed.Overlay(task.References[0].Fix), true)
	if len(ev.Problems) > 0 {
		t.Fatal(ev.Problems)
	}
	for _, c := range ev.Vuln.Checks {
		if !c.Complete || c.Defect != "" {
			t.Errorf("%s of %s is not complete: %s\n%s", c.Kind, c.World, c.Defect, c.Log)
		}
	}
	if len(ev.Vuln.Silencers) > 0 {
		t.Errorf("a fix that silences: %+v", ev.Vuln.Silencers)
	}
	for _, kind := range []tare.CheckKind{tare.CheckPoC, tare.CheckVariant} {
		for i, e := range find(t, ev, kind, tare.WorldFix).Executions {
			if len(e.Signs) > 0 || e.Signal != "" || e.Exit != 2 {
				t.Errorf("the fix, %s %d: %+v", kind, i, e)
			}
		}
		for i, e := range find(t, ev, kind, tare.WorldSeed).Executions {
			p := task.Vuln.PoCs[i]
			if ok, by := p.Triggers.Triggered(e); !ok {
				t.Errorf("the seed, %s: %+v", e.ID, e)
			} else if want := "sanitizer heap-buffer-overflow in decode_label"; by != want {
				t.Errorf("by %q, want %q", by, want)
			}
		}
	}
	if e := find(t, ev, tare.CheckFunction, tare.WorldFix).Executions[0]; string(e.Stdout) != "x\ny\n" || e.Exit != 0 || e.OutDigest != tare.HashBytes([]byte("x\ny\n")) {
		t.Errorf("functional tests: %+v", e)
	}
	if e := find(t, ev, tare.CheckIntent, tare.WorldSeed).Executions[0]; len(e.Signs) == 0 {
		t.Errorf("intent tests on the seed: %+v", e)
	}
	if a, b := find(t, ev, tare.CheckBenign, tare.WorldFix).Executions[0], find(t, ev, tare.CheckBenign, "reference:a").Executions[0]; a.OutDigest != b.OutDigest || string(a.Stdout) != "one\ntwo\n" {
		t.Errorf("benign: %+v and %+v", a, b)
	}
}

// TestGatherVulnSilencers: a patch that switches the sanitizer off for a function is in the record as such.
func TestGatherVulnSilencers(t *testing.T) {
	task := labels(t)
	quiet, _ := task.Seed.Lookup("labels.c")
	quiet.Data = []byte(strings.Replace(string(quiet.Data), "int decode_label(", "__attribute__((no_sanitize_address)) int decode_label(", 1))
	ev := gatherVuln(t, task, task.Seed.Overlay(tare.Tree{quiet}), true)
	want := []tare.Silencer{{Path: "labels.c", Line: 4, What: "attribute no_sanitize_address", Why: "switches the sanitizer off, or tells it what to do"}}
	if !slices.Equal(ev.Vuln.Silencers, want) {
		t.Errorf("got %+v", ev.Vuln.Silencers)
	}
}
