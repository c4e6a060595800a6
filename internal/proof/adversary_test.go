package proof_test

import (
	"testing"

	"tare"
	"tare/internal/proof"
	"tare/internal/suite"
)

func cheatable() (*tare.Task, []*suite.Adversary) {
	task := &tare.Task{
		ID: "s/t", Runner: "pytest", Sources: []string{"a.py"},
		Seed:       tare.Tree{{Path: "a.py", Mode: 0o644, Data: []byte("bug")}, {Path: "b.py", Mode: 0o644, Data: []byte("b")}},
		References: []tare.Reference{{Name: "a", Fix: tare.Tree{{Path: "a.py", Mode: 0o644, Data: []byte("fix")}}}},
		Controls:   []tare.Control{{Name: "seed", Origin: tare.FromSeed, Expect: tare.Expect{Outcome: tare.Fail, Gate: tare.GateBehaviour}}},
	}
	return task, []*suite.Adversary{
		{Name: "deletes", Kind: suite.Any, Rows: []suite.AdversaryRow{{Base: suite.OnSeed, AsSeed: true}, {Base: suite.OnReference, Expect: tare.Expect{Outcome: tare.Fail}}},
			Steps: []suite.Step{{Op: suite.OpDelete, Path: "b.py"}}},
		{Name: "plays", Kind: "pytest", Rows: []suite.AdversaryRow{{Base: suite.OnSeed, AsSeed: true}}, Agent: "#!/bin/sh\nrm @source@\n"},
		{Name: "other", Kind: "cobol", Rows: []suite.AdversaryRow{{Base: suite.OnSeed}}},
	}
}

func TestAdversarial(t *testing.T) {
	task, all := cheatable()
	got := proof.Adversarial(task, all)
	if len(got) != 3 || got[0].Name != "deletes@seed" || got[1].Name != "deletes@reference" || got[2].Name != "plays@seed" {
		t.Fatalf("controls %+v", got)
	}
	for i, want := range []string{"bug", "fix"} {
		tree := got[i].Solution(task.Seed)
		if f, _ := tree.Lookup("a.py"); len(tree) != 1 || string(f.Data) != want {
			t.Errorf("%s makes %v", got[i].Name, tree)
		}
	}
	if got[0].Expect.Gate != tare.GateBehaviour || got[0].Origin != tare.FromAdversary || got[2].Agent != "cheater:plays@seed" {
		t.Errorf("controls %+v", got)
	}
	for name, want := range map[string]suite.Base{"cheater:deletes": suite.OnSeed, "cheater:deletes@reference": suite.OnReference, "cheater:plays@tested": "", "cheater:other": "", "cheater:none": ""} {
		p, ok := proof.Cheater(name, task, all)
		if ok != (want != "") || p.Base != want {
			t.Errorf("%s plays on %q, %v; want %q", name, p.Base, ok, want)
		}
	}
	if p, _ := proof.Cheater("cheater:plays", task, all); p.Agent != "#!/bin/sh\nrm a.py\n" {
		t.Errorf("its script is %q", p.Agent)
	}
}

// TestWholeNeedsAdversaries keeps a proof that left the adversaries out from being certified.
func TestWholeNeedsAdversaries(t *testing.T) {
	task, verdicts := fixture()
	table, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if table.Whole || !table.Controls || len(table.Idle) == 0 {
		t.Errorf("a proof without adversaries is whole %v, idle %v", table.Whole, table.Idle)
	}
}
