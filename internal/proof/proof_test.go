package proof_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"tare"
	"tare/internal/proof"
	"tare/internal/run"
	"tare/internal/suite"
)

// unfit is an adversary that fits no ticket: a proof that looked for some is whole.
func unfit() []*suite.Adversary { return []*suite.Adversary{{Name: "none", Kind: "cobol"}} }

func number(v float64) *float64 { return &v }

// fixture is a task of three controls and one twin, with a judge that answers as the controls expect.
func fixture() (*tare.Task, map[string]tare.Verdict) {
	one := tare.Value{Kind: tare.KindInt, Text: "1"}
	task := &tare.Task{
		ID: "s/t", Kind: tare.Ticket, Hash: "sha256:task",
		Cases: []tare.Case{{ID: "used", Want: tare.Want{Exact: &one}}, {ID: "idle", Want: tare.Want{Exact: &one}}},
		Twins: []tare.Twin{{Name: "w", Of: "a"}},
		Controls: []tare.Control{
			{Name: "seed", Origin: tare.FromSeed, Expect: tare.Expect{Outcome: tare.Fail, Gate: "behaviour", Requirement: 2, Reason: "returned", Reward: number(0.5)}},
			{Name: "reference:a", Origin: tare.FromReference, Expect: tare.Expect{Outcome: tare.Fail, Gate: "regression_test", Reward: number(0.85)}},
			{Name: "reference:a+test", Origin: tare.FromReference, Expect: tare.Expect{Outcome: tare.Pass, Reward: number(1)}},
			{Name: "worthless:vacuous", Origin: tare.FromWorthless, Expect: tare.Expect{Outcome: tare.Fail, Gate: "regression_test", Reward: number(0.85)}},
		},
	}
	fail := func(gate, reason string, requirement int, reward float64) tare.Verdict {
		return tare.Verdict{Outcome: tare.Fail, RootGate: gate, Reward: &reward, Isolation: "bwrap", Gates: []tare.Gate{{Name: gate, Outcome: tare.Fail, Reason: reason, Requirement: requirement, Seconds: 1}}}
	}
	return task, map[string]tare.Verdict{
		"seed":              fail("behaviour", "requirement 2: f() returned 2", 2, 0.5),
		"reference:a":       fail("regression_test", "no test was added", 0, 0.85),
		"reference:a+test":  {Outcome: tare.Pass, Reward: number(1), Isolation: "bwrap"},
		"worthless:vacuous": fail("regression_test", "passes on the seed", 0, 0.85),
		"twin:w":            fail("behaviour", "requirement 2: f() returned 3", 2, 0.5),
	}
}

// judge answers from verdicts; n counts how often each control was asked.
func judge(verdicts map[string]tare.Verdict, alter func(name string, n int, v *tare.Verdict)) proof.Judge {
	var mu sync.Mutex
	asked := map[string]int{}
	return func(_ context.Context, task *tare.Task, c tare.Control, _ int) (run.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		v, ok := verdicts[c.Name]
		if !ok {
			return run.Result{}, fmt.Errorf("no verdict for %s", c.Name)
		}
		asked[c.Name]++
		v.Record = tare.Digest(fmt.Sprint(c.Name, asked[c.Name])) // records differ in their times
		v.Gates = slices.Clone(v.Gates)
		for i := range v.Gates {
			v.Gates[i].Seconds = float64(asked[c.Name])
		}
		if alter != nil {
			alter(c.Name, asked[c.Name], &v)
		}
		answer := tare.Value{Kind: tare.KindInt, Text: "2"}
		if v.Outcome == tare.Pass {
			answer.Text = "1"
		}
		behaviour := tare.Run{Role: tare.RoleBehaviour, Cases: []tare.CaseResult{{ID: "used", Value: answer}, {ID: "idle", Value: tare.Value{Kind: tare.KindInt, Text: "1"}}}}
		return run.Result{Verdict: v, Record: tare.Record{Evidence: tare.Evidence{Runs: []tare.Run{behaviour}}}}, nil
	}
}

// TestAdversaryStopsNoCase has an adversary that lets the probe answer nothing at all.
func TestAdversaryStopsNoCase(t *testing.T) {
	task, verdicts := fixture()
	task.References = []tare.Reference{{Name: "a"}} // without one no adversary fits
	verdicts["breaks@seed"] = verdicts["seed"]
	answered := judge(verdicts, nil)
	silent := func(ctx context.Context, task *tare.Task, c tare.Control, pass int) (run.Result, error) {
		res, err := answered(ctx, task, c, pass)
		if c.Origin == tare.FromAdversary {
			res.Record.Evidence.Runs[0].Cases = nil
		}
		return res, err
	}
	breaks := []*suite.Adversary{{Name: "breaks", Kind: suite.Any, Rows: []suite.AdversaryRow{{Base: suite.OnSeed, AsSeed: true}}}}
	table, err := proof.Prove(t.Context(), task, silent, proof.Options{Adversaries: breaks})
	if err != nil {
		t.Fatal(err)
	}
	row := slices.IndexFunc(table.Rows, func(r proof.Row) bool { return r.Control == "breaks@seed" })
	if row < 0 || len(table.Rows[row].Stops) != 2 {
		t.Fatalf("the adversary's row: %+v", table.Rows)
	}
	if !slices.Equal(table.Idle, []string{"idle"}) {
		t.Errorf("idle cases: %v", table.Idle)
	}
}

func TestProofHolds(t *testing.T) {
	task, verdicts := fixture()
	table, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{Jobs: 2, Adversaries: unfit()})
	if err != nil {
		t.Fatal(err)
	}
	if !table.OK() || !table.Whole || len(table.Rows) != 5 || table.Isolation != "bwrap" {
		t.Errorf("got %+v", table)
	}
	if !slices.Equal(table.Idle, []string{"idle"}) {
		t.Errorf("idle cases: %v", table.Idle)
	}
	again, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{Jobs: 1, Adversaries: unfit()})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := table.Digest()
	if b, _ := again.Digest(); a != b {
		t.Errorf("two proofs of one task have digests %s and %s", a, b)
	}
	s := proof.SweepOf(table)
	if s.Unfixed.Control != "seed" || s.Untested.Control != "reference:a" || s.Genuine.Control != "reference:a+test" || s.Vacuous.Control != "worthless:vacuous" {
		t.Errorf("sweep %+v", s)
	}
}

// TestRecordsAreLetGo looks, when the last row was played, for the records of the first pass: only those are held that further rows are
// made of.
func TestRecordsAreLetGo(t *testing.T) {
	task, verdicts := fixture()
	task.References = []tare.Reference{{Name: "a"}}
	runs := map[string]weak.Pointer[tare.Run]{}
	answered := judge(verdicts, nil)
	judged := func(ctx context.Context, task *tare.Task, c tare.Control, pass int) (run.Result, error) {
		res, err := answered(ctx, task, c, pass)
		if pass == 0 {
			runs[c.Name] = weak.Make(&res.Record.Evidence.Runs[0])
		}
		return res, err
	}
	held := map[string]bool{}
	_, err := proof.Prove(t.Context(), task, judged, proof.Options{Adversaries: unfit(), Progress: func(done, all int) {
		if done == all {
			runtime.GC()
			for name, r := range runs {
				held[name] = r.Value() != nil
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"seed": true, "reference:a": true, "reference:a+test": true, "worthless:vacuous": false, "twin:w": false}
	if !maps.Equal(held, want) {
		t.Errorf("held are %v, want %v", held, want)
	}
}

// TestProofSaysNo gives each way in which a row can be wrong, and which words must name it.
func TestProofSaysNo(t *testing.T) {
	tests := map[string]struct {
		control string
		alter   func(n int, v *tare.Verdict)
		want    string
	}{
		"passes what is wrong": {"seed", func(_ int, v *tare.Verdict) { v.Outcome = tare.Pass }, "expected FAIL, got PASS"},
		"fails what is right":  {"reference:a+test", func(_ int, v *tare.Verdict) { v.Outcome = tare.Fail }, "expected PASS, got FAIL"},
		"gives no answer":      {"reference:a", func(_ int, v *tare.Verdict) { v.Outcome = tare.Unverified }, "got UNVERIFIED"},
		"other reward":         {"seed", func(_ int, v *tare.Verdict) { v.Reward = number(0) }, "expected reward 0.50, got 0.00"},
		"no reward":            {"seed", func(_ int, v *tare.Verdict) { v.Reward = nil }, "got none"},
		"other gate":           {"reference:a", func(_ int, v *tare.Verdict) { v.RootGate = "behaviour" }, "expected to be stopped at regression_test"},
		"other requirement":    {"seed", func(_ int, v *tare.Verdict) { v.Gates[0].Requirement = 1 }, "expected to break requirement 2, broke 1"},
		"other reason":         {"seed", func(_ int, v *tare.Verdict) { v.Gates[0].Reason = "crashed" }, `expected the reason to say "returned"`},
		"a twin passes":        {"twin:w", func(_ int, v *tare.Verdict) { v.Outcome = tare.Pass }, "expected FAIL, got PASS"},
		"flips":                {"seed", func(n int, v *tare.Verdict) { v.Gates[0].Reason += fmt.Sprint(n) }, "pass 2 came out otherwise"},
		"flips out of sight":   {"reference:a+test", func(n int, v *tare.Verdict) { v.Unresolved = []string{fmt.Sprint(n)} }, "pass 2 came out otherwise"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			task, verdicts := fixture()
			table, err := proof.Prove(t.Context(), task, judge(verdicts, func(name string, n int, v *tare.Verdict) {
				if name == tt.control {
					tt.alter(n, v)
				}
			}), proof.Options{Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			if table.OK() {
				t.Error("the table is OK")
			}
			for _, r := range table.Rows {
				if r.OK == (r.Control == tt.control) || !r.OK && !strings.Contains(r.Wrong, tt.want) {
					t.Errorf("row %s: OK %v, %q; want %q", r.Control, r.OK, r.Wrong, tt.want)
				}
			}
		})
	}
}

func TestNoRowsAreNoProof(t *testing.T) {
	if (proof.Table{}).OK() {
		t.Error("an empty table is OK")
	}
}

func TestJudgeErrorEndsTheProof(t *testing.T) {
	task, verdicts := fixture()
	delete(verdicts, "reference:a")
	if _, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{Jobs: 2}); err == nil || !strings.Contains(err.Error(), "control reference:a") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proof.Prove(ctx, task, judge(verdicts, nil), proof.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gave %v", err)
	}
}

func TestStanding(t *testing.T) {
	task, verdicts := fixture()
	table, err := proof.Prove(t.Context(), task, judge(verdicts, nil), proof.Options{Adversaries: unfit()})
	if err != nil {
		t.Fatal(err)
	}
	ground := proof.Ground{Grader: "sha256:grader", Adversaries: "sha256:adversaries", Isolation: "bwrap", Tools: "pytest 7"}
	entry, err := proof.Certify(table, ground, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	other := *task
	other.Hash = "sha256:other"
	broken := table
	broken.Rows = slices.Clone(table.Rows)
	broken.Rows[0].OK = false
	partly, err := proof.Certify(broken, ground, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	alone := table
	alone.Whole = false
	controls, err := proof.Certify(alone, ground, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	on := func(change func(*proof.Ground)) proof.Ground {
		g := ground
		change(&g)
		return g
	}
	tests := map[string]struct {
		certificate []byte
		task        *tare.Task
		ground      proof.Ground
		want        tare.ProofStatus
	}{
		"proven":            {entry.Bytes, task, ground, tare.Proven},
		"none":              {nil, task, ground, tare.Unproven},
		"garbage":           {[]byte("{}"), task, ground, tare.Unproven},
		"other task":        {entry.Bytes, &other, ground, tare.Stale},
		"other grader":      {entry.Bytes, task, on(func(g *proof.Ground) { g.Grader = "sha256:new" }), tare.Stale},
		"other adversaries": {entry.Bytes, task, on(func(g *proof.Ground) { g.Adversaries = "sha256:new" }), tare.Stale},
		"other isolation":   {entry.Bytes, task, on(func(g *proof.Ground) { g.Isolation = "process" }), tare.Stale},
		"other tools":       {entry.Bytes, task, on(func(g *proof.Ground) { g.Tools = "pytest 8" }), tare.Stale},
		"a row was not OK":  {partly.Bytes, task, ground, tare.Partly},
		"no adversaries":    {controls.Bytes, task, ground, tare.Partly},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := proof.Standing(tt.certificate, tt.task.ID, tt.task.Hash, tt.ground); got.Status != tt.want {
				t.Errorf("got %s, want %s", got.Status, tt.want)
			}
		})
	}
	for name, spoil := range map[string]func(*proof.Table){
		"a part":      func(t *proof.Table) { t.Controls = false },
		"played once": func(t *proof.Table) { t.Passes = 1 },
	} {
		bad := table
		spoil(&bad)
		if _, err := proof.Certify(bad, ground, time.Now()); err == nil {
			t.Errorf("a table that is %s was certified", name)
		}
	}
}
