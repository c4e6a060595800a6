package proof_test

import (
	"strings"
	"testing"

	"tare"
	"tare/internal/oracle"
	"tare/internal/proof"
)

// ran is a start of a program that came to its end.
func ran(id, out string) tare.Execution {
	return tare.Execution{ID: id, Command: []string{"./p"}, Started: true, Stdout: []byte(out), OutDigest: tare.HashBytes([]byte(out))}
}

// aRepair is a vulnerability with data of every kind and records of its first reference, which passes, and of the unpatched tree.
func aRepair() (*tare.Task, map[string]tare.Record) {
	task := &tare.Task{
		ID: "s/t", Kind: tare.Vuln, Hash: tare.HashBytes([]byte("t")), References: []tare.Reference{{Name: "a"}},
		Vuln: &tare.VulnSpec{
			Language: "c", Build: tare.Script{Name: "build.sh", Text: "cc"}, Driver: &tare.Driver{Build: tare.Script{Name: "driver.sh", Text: "cc"}},
			PoCs:     []tare.PoC{{Name: "long", Triggers: tare.Trigger{Sanitizer: "heap-buffer-overflow"}}, {Name: "wide", Triggers: tare.Trigger{Sanitizer: "heap-buffer-overflow"}}},
			Variants: []tare.Input{{Name: "x", Of: "long"}, {Name: "y", Of: "wide"}},
			Benign:   &tare.Benign{Inputs: []tare.Input{{Name: "good"}}},
			Intent:   &tare.TestSet{Runner: "pytest", IDs: []string{"t.py::test_a", "t.py::test_b"}},
			Function: &tare.TestSet{Runner: "cases", IDs: []string{"hello"}, Cases: []tare.ProgramCase{{ID: "hello", Stdout: []byte("hello\n")}}},
		},
	}
	overrun := func(id string) tare.Execution {
		e := ran(id, "")
		e.Exit, e.Signs = 99, []tare.Sign{{Kind: tare.SignSanitizer, What: "heap-buffer-overflow"}}
		return e
	}
	record := func(fixed bool) tare.Record {
		ev := &tare.VulnEvidence{}
		add := func(kind tare.CheckKind, w tare.World, es ...tare.Execution) *tare.Check {
			ev.Checks = append(ev.Checks, tare.Check{ID: "e" + string(rune('a'+len(ev.Checks))), Kind: kind, World: w, Tree: "sha256:t", Executions: es, Complete: true})
			return &ev.Checks[len(ev.Checks)-1]
		}
		reference := tare.WorldReference("a")
		for _, w := range []tare.World{tare.WorldFix, tare.WorldSeed, reference} {
			add(tare.CheckBuild, w, ran("build.sh", ""))
			add(tare.CheckDriver, w, ran("driver.sh", ""))
			if w != tare.WorldSeed {
				add(tare.CheckBenign, w, ran("good", "fine"))
			}
			if w == reference {
				continue
			}
			try, a := overrun, tare.TestFailed
			if w == tare.WorldFix && fixed {
				try, a = func(id string) tare.Execution { return ran(id, "refused") }, tare.TestPassed
			}
			add(tare.CheckPoC, w, try("long"), try("wide"))
			add(tare.CheckVariant, w, try("long/x"), try("wide/y"))
			c := add(tare.CheckIntent, w, ran("pytest", ""))
			c.Tests = []tare.TestResult{{ID: "t.py::test_a", Outcome: a}, {ID: "t.py::test_b", Outcome: tare.TestPassed}}
			c.Sentinels = []tare.Sentinel{{Name: "passing", Want: tare.TestPassed, Got: tare.TestPassed}, {Name: "failing", Want: tare.TestFailed, Got: tare.TestFailed}}
			add(tare.CheckFunction, w, ran("hello", "hello\n"))
		}
		return tare.Record{
			Schema: tare.RecordSchema, TaskHash: task.Hash, Trajectory: tare.Trajectory{Episode: tare.Episode{Task: task.ID, TaskHash: task.Hash}, Stop: tare.EndTurn},
			Evidence: tare.Evidence{Isolation: "bwrap", Changes: []tare.Change{{Path: "a.c", Kind: tare.Modified}}, Vuln: ev},
		}
	}
	return task, map[string]tare.Record{"reference:a": record(true), "seed": record(false)}
}

// TestSpoiltRepairs takes evidence out of the record of a repair, or alters it, in every way that there is: none is PASS, each comes
// out as is stated, and the record itself stays as it was.
func TestSpoiltRepairs(t *testing.T) {
	task, records := aRepair()
	if v := oracle.Judge(task, records["reference:a"]); v.Outcome != tare.Pass {
		t.Fatalf("the record as it was: %s at %s, %+v", v.Outcome, v.RootGate, v.Gates)
	}
	before, err := tare.Canonical(records)
	if err != nil {
		t.Fatal(err)
	}
	sick, err := proof.SickRecords(task, records)
	if err != nil {
		t.Fatal(err)
	}
	if len(sick) < 65 {
		t.Errorf("only %d records are spoilt", len(sick))
	}
	for _, s := range sick {
		v := oracle.Judge(s.Task, s.Record)
		if said := proof.Misses(s.Control.Expect, v); said != "" || s.Control.Expect.Outcome == tare.Pass {
			g, _ := v.Gate(v.RootGate)
			t.Errorf("%s: %s; the judge said: %s", s.Control.Name, said, g.Reason)
		}
	}
	after, err := tare.Canonical(records)
	if err != nil || string(after) != string(before) || len(task.Vuln.PoCs) != 2 {
		t.Errorf("the records that were spoilt have changed, or the task (%v)", err)
	}
	names := map[string]bool{}
	for _, s := range sick {
		if names[s.Control.Name] || !strings.HasPrefix(s.Control.Name, "sick:") {
			t.Errorf("%s is here twice", s.Control.Name)
		}
		names[s.Control.Name] = true
	}
}
