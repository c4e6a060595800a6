package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare"
)

func TestCount(t *testing.T) {
	r := sample()
	got := Count(r.Rows)
	if got.Reward == nil || got.Score == nil {
		t.Fatal("no reward, or no score")
	}
	// Graded: 0.5 0.85 1 0.5 0.85 1 and, behind a stale proof, 0. Unknown: 0.85 to 1, 0 to 1, and one not played.
	want := Counts{
		Planned: 10, Passed: 2, Failed: 5, Unverified: 2, NotPlayed: 1, Infrastructure: 1, Unfinished: 1,
		Reward: ptr(4.7 / 7), Score: ptr(4.7 / 6), ScoreFrom: 6, Bounds: [2]float64{5.55 / 10, 7.7 / 10},
	}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTimes: a row that stands for several episodes counts as these would, one by one.
func TestTimes(t *testing.T) {
	r := sample()
	var weighed, single []Row
	for i, row := range r.Rows {
		for range i%3 + 1 {
			single = append(single, row)
		}
		row.Times = i%3 + 1
		weighed = append(weighed, row)
	}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(Count(single), Count(weighed), near); diff != "" {
		t.Errorf("-one by one +weighed:\n%s", diff)
	}
	var a, b bytes.Buffer
	if err := errors.Join(Matrix(&a, single, Options{}), Matrix(&b, weighed, Options{})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.String(), b.String()); diff != "" {
		t.Errorf("-one by one +weighed:\n%s", diff)
	}
}

// TestUnverifiedIsNotZero: missing evidence moves no mean, and a reward in a verdict that gives no answer does not count.
func TestUnverifiedIsNotZero(t *testing.T) {
	pass := episode(inventory, "a", 1, 1, infraOK)
	lost := episode(inventory, "a", 2, 0, gate(tare.GateInfrastructure, tare.Unverified, "lost"))
	c := Count([]Row{pass, lost, {Episode: lost.Episode}})
	if *c.Reward != 1 || *c.Score != 1 || c.Graded() != 1 || c.Known() {
		t.Errorf("reward %v, score %v, graded %d, known %v", *c.Reward, *c.Score, c.Graded(), c.Known())
	}
	if c := Count([]Row{lost}); c.Reward != nil || c.Score != nil {
		t.Errorf("one unverified episode has reward %v, score %v", c.Reward, c.Score)
	}
}

func TestCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			v := tare.Verdict{
				Outcome:    rapid.SampledFrom([]tare.Outcome{tare.Pass, tare.Fail, tare.Unverified, "", "odd"}).Draw(t, "outcome"),
				Proof:      tare.Proof{Status: rapid.SampledFrom([]tare.ProofStatus{tare.Proven, tare.Partly, tare.Stale, tare.Unproven, ""}).Draw(t, "proof")},
				Unfinished: rapid.Bool().Draw(t, "unfinished"),
			}
			v.RewardBounds[0] = rapid.Float64Range(0, 1).Draw(t, "low")
			v.RewardBounds[1] = rapid.Float64Range(v.RewardBounds[0], 1).Draw(t, "high")
			if v.Outcome == tare.Pass || v.Outcome == tare.Fail {
				v.Reward = ptr(rapid.Float64Range(0, 1).Draw(t, "reward"))
			}
			rows = append(rows, Row{Verdict: v})
		}
		c := Count(rows)
		if sum := c.Passed + c.Failed + c.Unverified + c.NotPlayed; sum != c.Planned || c.Planned != len(rows) {
			t.Errorf("%d rows, %d planned, %d in parts", len(rows), c.Planned, sum)
		}
		if c.Infrastructure > c.Unverified || c.ScoreFrom > c.Graded() || (c.Reward == nil) != (c.Graded() == 0) || c.Bounds[0] > c.Bounds[1] {
			t.Errorf("%+v", c)
		}
	})
}

// TestProofStandsBesideNumbers: the weakest proof behind a number is the one that is shown.
func TestProofStandsBesideNumbers(t *testing.T) {
	row := func(s tare.ProofStatus) Row {
		return Row{Verdict: tare.Verdict{Outcome: tare.Pass, Proof: tare.Proof{Status: s}}}
	}
	for _, tt := range []struct {
		rows []Row
		want tare.ProofStatus
	}{
		{[]Row{row(tare.Proven), row(tare.Proven)}, tare.Proven},
		{[]Row{row(tare.Proven), row(tare.Partly)}, tare.Partly},
		{[]Row{row(tare.Stale), row(tare.Partly), row(tare.Proven)}, tare.Stale},
		{[]Row{row(tare.Proven), row("")}, tare.Unproven},
		{[]Row{row("something new")}, tare.Unproven},
		{[]Row{row(tare.Proven), {}}, tare.Proven},
		{nil, tare.Unproven},
	} {
		if got := weakest(tt.rows).Status; got != tt.want {
			t.Errorf("%v: %s, want %s", tt.rows, got, tt.want)
		}
	}
}

// TestHeldOutIsMarked: wherever a held-out task is named, it says so.
func TestHeldOutIsMarked(t *testing.T) {
	r := sample()
	r.Rows = r.Rows[7:]
	forms := map[string]func(*bytes.Buffer) error{
		"matrix":  func(b *bytes.Buffer) error { return Matrix(b, r.Rows, Options{}) },
		"narrow":  func(b *bytes.Buffer) error { return Matrix(b, r.Rows, Options{Width: 60}) },
		"verdict": func(b *bytes.Buffer) error { return VerdictText(b, r.Rows[1], Options{}) },
		"metrics": func(b *bytes.Buffer) error { return Metrics(b, r.Rows, Options{}) },
		"junit":   func(b *bytes.Buffer) error { return JUnit(b, r) },
		"html":    func(b *bytes.Buffer) error { return HTML(b, r) },
	}
	for name, write := range forms {
		for _, held := range []bool{true, false} {
			for i := range r.Rows {
				r.Rows[i].HeldOut = held
			}
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(b.String(), "held-out"); got != held {
				t.Errorf("%s: held-out is %v, shown is %v", name, held, got)
			}
		}
	}
	var b bytes.Buffer
	if err := HTML(&b, sample()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), ">held-out<"); got != 2 { // in the matrix and above its verdicts
		t.Errorf("the page marks the one held-out task %d times, want 2", got)
	}
}

// TestJUnitOutcomes: nothing but PASS is without a failure or an error, and nothing is skipped.
func TestJUnitOutcomes(t *testing.T) {
	rows := map[string]Row{
		"PASS":       episode(inventory, "PASS", 1, 1, infraOK),
		"FAIL":       episode(inventory, "FAIL", 1, 0.85, infraOK, testMissing),
		"UNVERIFIED": episode(inventory, "UNVERIFIED", 1, 0, gate(tare.GateInfrastructure, tare.Unverified, "lost")),
		"not played": {Episode: tare.Episode{Task: inventory, Agent: "not played"}},
		"odd":        {Episode: tare.Episode{Task: inventory, Agent: "odd"}, Verdict: tare.Verdict{Outcome: "SKIPPED"}},
	}
	want := map[string]string{"PASS": "", "FAIL": "failure regression_test", "UNVERIFIED": "error infrastructure", "not played": "error not-played", "odd": "error "}
	var r Result
	for _, row := range rows {
		r.Rows = append(r.Rows, row)
	}
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<skipped") {
		t.Error("something is skipped")
	}
	var doc junitSuites
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range doc.Suites {
		for _, c := range s.Cases {
			switch {
			case c.Failure != nil:
				got[s.Name] = "failure " + c.Failure.Type
			case c.Error != nil:
				got[s.Name] = "error " + c.Error.Type
			default:
				got[s.Name] = ""
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if doc.Tests != 5 || doc.Failures != 1 || doc.Errors != 3 {
		t.Errorf("%d tests, %d failures, %d errors", doc.Tests, doc.Failures, doc.Errors)
	}
}

// TestVisible pins what a person sees of bytes that are not text.
func TestVisible(t *testing.T) {
	for _, tt := range []struct{ in, line, block string }{
		{"plain ✓ é 日本", "plain ✓ é 日本", "plain ✓ é 日本"},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		{"a\r\nb\rc", `a\x0d\nb\x0dc`, "a\nb\\x0dc"},
		{"\x1b[31m", `\x1b[31m`, `\x1b[31m`},
		{"\xff\xc3(", `\xff\xc3(`, `\xff\xc3(`},
		{"a\u202eb\u2066c\ufeff", `a\u202eb\u2066c\ufeff`, `a\u202eb\u2066c\ufeff`},
		{"a\u00a0b\u3000c", "a b c", "a b c"},
		{"\U000e0041", `\U000e0041`, `\U000e0041`},
		{"\u0085\u009b", `\x85\x9b`, `\x85\x9b`},
	} {
		if got := line(tt.in, 100); got != tt.line {
			t.Errorf("line(%q) = %q, want %q", tt.in, got, tt.line)
		}
		if got := block(tt.in, 100); got != tt.block {
			t.Errorf("block(%q) = %q, want %q", tt.in, got, tt.block)
		}
	}
	if got, want := line("ééééé", 5), "éé… [6 bytes more]"; got != want {
		t.Errorf("cut in mid-rune: %q, want %q", got, want)
	}
}

// TestColumns pins widths that the other tests take for granted.
func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301\u0301": 1, "日本": 4, "🙂": 2, "✓✗": 2, "…": 1, "ａ": 2, "한": 2} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
	if got := pad("日本", 6) + "|"; got != "日本  |" {
		t.Errorf("pad: %q", got)
	}
	if got := pad("日本", -6); got != "  日本" {
		t.Errorf("pad to the left: %q", got)
	}
	if got := clip("日本語", 5); got != "日本…" {
		t.Errorf("clip: %q", got)
	}
	if got := strings.Join(wrap("one two  日本語 three", 7), "|"); got != "one two|日本語|three" {
		t.Errorf("wrap: %q", got)
	}
}
