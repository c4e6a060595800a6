package proof_test

import (
	"strings"
	"testing"

	"tare"
	"tare/internal/proof"
)

// TestSickRows has spoilt records judged by somebody who believes everything, who says nothing, and who changes his mind.
func TestSickRows(t *testing.T) {
	asked := 0
	for name, tt := range map[string]struct {
		judge func(*tare.Task, tare.Record) tare.Verdict
		want  string
	}{
		"believes":         {func(*tare.Task, tare.Record) tare.Verdict { return tare.Verdict{Outcome: tare.Pass} }, "got PASS"},
		"blames the agent": {func(*tare.Task, tare.Record) tare.Verdict { return tare.Verdict{Outcome: tare.Fail} }, "expected UNVERIFIED, got FAIL"},
		"wavers": {func(*tare.Task, tare.Record) tare.Verdict {
			asked++
			return tare.Verdict{Outcome: tare.Unverified, RootGate: tare.GateInfrastructure, Isolation: strings.Repeat("x", asked),
				Gates: []tare.Gate{{Name: tare.GateInfrastructure, Outcome: tare.Unverified, Reason: "the schema"}}}
		}, "pass 2 came out otherwise"},
	} {
		t.Run(name, func(t *testing.T) {
			task, verdicts := fixture()
			task.References = []tare.Reference{{Name: "a"}}
			table, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{Adversaries: unfit(), Rejudge: tt.judge})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, r := range table.Rows {
				if r.Control == "sick:record-of-another-form" {
					found = true
					if r.OK || r.Origin != tare.FromSick || !strings.Contains(r.Wrong, tt.want) {
						t.Errorf("row %+v, want it wrong: %q", r, tt.want)
					}
				}
			}
			if !found || table.OK() {
				t.Errorf("the row is there: %v; the table is OK: %v", found, table.OK())
			}
		})
	}
}

// TestSpoiltRecordsAreCopies spoils a record in every way and looks whether it is still what it was.
func TestSpoiltRecordsAreCopies(t *testing.T) {
	rec := tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Stop: tare.EndTurn}, Evidence: tare.Evidence{Isolation: "bwrap", Changes: []tare.Change{{Path: "a"}}, Runs: []tare.Run{{ID: "e1", Role: tare.RoleVisible, World: tare.WorldFix, Tree: "x",
		Sentinels: []tare.Sentinel{{Name: "passing", Want: tare.TestPassed, Got: tare.TestPassed}}, Tests: []tare.TestResult{{ID: "v", Outcome: tare.TestPassed}}}, {ID: "e2", Role: tare.RoleBehaviour, World: tare.WorldFix}}}}
	before, err := tare.Canonical(rec)
	if err != nil {
		t.Fatal(err)
	}
	task := &tare.Task{ID: "s/t", Visible: []string{"v"}, References: []tare.Reference{{Name: "a"}}, Cases: []tare.Case{{ID: "c"}}}
	sick, err := proof.SickRecords(task, map[string]tare.Record{"reference:a+test": rec, "seed": rec})
	if err != nil || len(sick) < 20 {
		t.Fatalf("%d records, %v", len(sick), err)
	}
	after, err := tare.Canonical(rec)
	if err != nil || string(after) != string(before) || len(task.Cases) != 1 {
		t.Error("the record that was spoilt has changed")
	}
	for _, s := range sick {
		b, err := tare.Canonical(s.Record)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) == string(before) && s.Task == task {
			t.Errorf("%s is the record as it was", s.Control.Name)
		}
	}
}
