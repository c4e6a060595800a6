package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

var update = flag.Bool("update", false, "write what the code makes to the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant, run with -update:\n%s", name, diff)
	}
}

func ptr[T any](v T) *T { return &v }

const (
	inventory = "tickets/bugfix_inventory"
	ledger    = "tickets/ledger_transfer_rollback"
	shipping  = "tickets/shipping_quote_root_cause"
)

// episode makes a played row with a verdict of the given gates.
func episode(task, agent string, trial int, reward float64, gates ...tare.Gate) Row {
	v := tare.Verdict{
		Schema: tare.VerdictSchema, Task: task, Record: tare.HashBytes([]byte(task + agent)), Grader: tare.HashBytes(nil), Gates: gates, Stop: tare.EndTurn,
		Isolation: "bwrap", Reward: &reward, RewardBounds: [2]float64{reward, reward}, Proof: tare.Proof{Status: tare.Proven, Certificate: tare.HashBytes([]byte(task))},
	}
	v.Outcome, v.RootGate = tare.Fold(gates)
	if v.Outcome == tare.Fail {
		v.Cause = tare.CauseAgent
	}
	began := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	return Row{
		Episode: tare.Episode{Task: task, Agent: agent, Trial: trial}, Title: "Search lists a product twice", Verdict: v,
		Trajectory: tare.Trajectory{
			Started: began, Finished: began.Add(2340 * time.Millisecond), Stop: tare.EndTurn, Final: "The bug is fixed and the tests pass.",
			Steps: []tare.Step{
				step(0, "list_files", `{}`, true, "src/inventory/search.py\ntests/test_inventory.py"),
				step(1, "read_file", `{"path":"src/search.py"}`, false, "there is no file src/search.py"),
				step(2, "read_file", `{"path":"src/inventory/search.py"}`, true, "class InventoryService:\n\tdef search(self, query):\n\t\treturn []"),
				step(3, "write_file", `{"path":"src/inventory/search.py","content":"class InventoryService:\n    pass\n"}`, true, "42 bytes written"),
				step(4, "run_tests", `{}`, true, "12 passed in 0.31 s"),
			},
		},
	}
}

func step(i int, tool, args string, ok bool, preview string) tare.Step {
	s := tare.Step{
		Call:        tare.Call{Index: i, At: float64(i) / 4, Tool: tool, Args: json.RawMessage(args)},
		Observation: tare.Observation{OK: ok, Preview: preview, Size: len(preview), Seconds: 0.0123},
	}
	if i == 2 {
		s.Call.RetryOf = ptr(1)
		s.Call.Note = "the listing shows where it is"
	}
	return s
}

func gate(name string, o tare.Outcome, reason string) tare.Gate {
	g := tare.Gate{Name: name, Outcome: o, Need: tare.Required, Reason: reason, Seconds: 0.31, Evidence: []string{"e1"}}
	if name == tare.GateClaims {
		g.Need = tare.Advisory
	}
	return g
}

var (
	infraOK     = gate(tare.GateInfrastructure, tare.Pass, "all runs were made")
	integrityOK = gate(tare.GateIntegrity, tare.Pass, "nothing that steers the tests was changed")
	visibleOK   = gate(tare.GateVisibleTests, tare.Pass, "12 of 12 tests were collected and passed")
	behaviourOK = gate(tare.GateBehaviour, tare.Pass, "34 of 34 cases came out right")
	testOK      = gate(tare.GateRegressionTest, tare.Pass, "tests/test_inventory.py::test_once fails on the seed and on 3 twins, and passes on every fix")
	testMissing = gate(tare.GateRegressionTest, tare.Fail, "no test was added or changed; add one that fails on the seed and passes on the fix")
	claimsOK    = gate(tare.GateClaims, tare.Pass, "\"the tests pass\" holds")
)

func blocked(name, by string) tare.Gate {
	return tare.Gate{Name: name, Outcome: tare.Blocked, Need: tare.Required, BlockedBy: by}
}

// sample is a run with one of everything.
func sample() Result {
	wrong := gate(tare.GateBehaviour, tare.Fail, "requirement 2: search('red') returned ['X', 'X'], expected ['X']; 3 of 34 cases came out wrong, all of requirement 2")
	wrong.Requirement = 2
	cheat := gate(tare.GateIntegrity, tare.Fail, "conftest.py, which is not in the seed, makes 2 failing tests pass")
	lost := gate(tare.GateInfrastructure, tare.Unverified, "the model's service answered 529 to every attempt")
	full := []tare.Gate{infraOK, integrityOK, visibleOK, behaviourOK, testOK, claimsOK}
	most := []tare.Gate{infraOK, integrityOK, visibleOK, behaviourOK, testMissing, claimsOK}

	limit := episode(ledger, "advanced", 1, 0, infraOK, integrityOK, visibleOK, behaviourOK, gate(tare.GateRegressionTest, tare.Unverified, "the episode ended at its turn limit before a test was written"))
	limit.Verdict.Reward, limit.Verdict.RewardBounds, limit.Verdict.Unfinished = nil, [2]float64{0.85, 1}, true
	limit.Verdict.Stop, limit.Trajectory.Stop, limit.Trajectory.Final = tare.TurnLimit, tare.TurnLimit, ""
	limit.Verdict.Unresolved = []string{"whether a regression test would have followed"}

	infra := episode(shipping, "advanced", 1, 0, lost, blocked(tare.GateIntegrity, "infrastructure"), blocked(tare.GateBehaviour, "infrastructure"))
	infra.Verdict.Reward, infra.Verdict.RewardBounds, infra.Verdict.Cause = nil, [2]float64{0, 1}, tare.CauseInfrastructure

	rows := []Row{
		episode(inventory, "noop", 1, 0.5, infraOK, integrityOK, visibleOK, wrong, blocked(tare.GateRegressionTest, tare.GateBehaviour)),
		episode(inventory, "baseline", 1, 0.85, most...),
		episode(inventory, "advanced", 1, 1, full...),
		episode(ledger, "noop", 1, 0.5, infraOK, integrityOK, visibleOK, wrong, blocked(tare.GateRegressionTest, tare.GateBehaviour)),
		episode(ledger, "baseline", 1, 0.85, most...),
		episode(ledger, "baseline", 2, 1, full...),
		limit,
		{Episode: tare.Episode{Task: shipping, Agent: "noop", Trial: 1}, HeldOut: true},
		episode(shipping, "baseline", 1, 0, infraOK, cheat, blocked(tare.GateVisibleTests, tare.GateIntegrity), blocked(tare.GateBehaviour, tare.GateIntegrity)),
		infra,
	}
	for i := range rows {
		if rows[i].Episode.Task == shipping {
			rows[i].HeldOut = true
			rows[i].Title = "Quotes are off by one zone"
			if rows[i].Verdict.Proof.Status != "" {
				rows[i].Verdict.Proof = tare.Proof{Status: tare.Stale, Ceiling: ptr(0.9)}
			}
		}
	}
	return Result{Run: "4f1d09c2ab77", Rows: rows, ProofLines: []string{
		"58 controls of 2 tasks were played twice, and each came out as stated, both times",
		"tickets/shipping_quote_root_cause changed after its proof",
	}}
}

func TestGolden(t *testing.T) {
	r := sample()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"matrix.txt":        func(b *bytes.Buffer) error { return Matrix(b, r.Rows, Options{}) },
		"matrix_color.txt":  func(b *bytes.Buffer) error { return Matrix(b, r.Rows, Options{Color: true}) },
		"matrix_narrow.txt": func(b *bytes.Buffer) error { return Matrix(b, r.Rows, Options{Width: 72}) },
		"matrix_empty.txt":  func(b *bytes.Buffer) error { return Matrix(b, nil, Options{}) },
		"verdict_fail.txt":  func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[1], Options{}) },
		"verdict_pass.txt":  func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[2], Options{}) },
		"verdict_limit.txt": func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[6], Options{}) },
		"verdict_none.txt":  func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[7], Options{}) },
		"verdict_infra.txt": func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[9], Options{Color: true}) },
		"metrics.txt":       func(b *bytes.Buffer) error { return Metrics(b, r.Rows, Options{}) },
		"metrics_one.txt":   func(b *bytes.Buffer) error { return MetricsText(b, r.Rows[2], Options{}) },
		"junit.xml":         func(b *bytes.Buffer) error { return JUnit(b, r) },
		"report.html":       func(b *bytes.Buffer) error { return HTML(b, r) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "ZgotmplZ") {
				t.Error("the template refused a value")
			}
			golden(t, name, b.Bytes())
		})
	}
}
