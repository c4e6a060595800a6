package canary

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/run"
)

// table makes rows of a drawing: one line a canary, "p" planted or "c" clean, then the outcomes of the trials of each phrasing.
func table(text string) []Row {
	var out []Row
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(l)
		if len(f) == 0 {
			return nil
		}
		for k, trials := range f[1:] {
			for t, o := range trials {
				out = append(out, Row{
					Canary: fmt.Sprint(f[0], i), Phrasing: string(rune('A' + k)), Trial: t + 1, Planted: f[0] == "p", Seconds: 2,
					Outcome: map[rune]tare.Outcome{'+': tare.Pass, '-': tare.Fail, '?': tare.Unverified}[o],
				})
			}
		}
	}
	return out
}

func TestDecisionTable(t *testing.T) {
	for _, tt := range []struct {
		name, rows, want string
	}{
		{"the seed's first row", "p + +\np + +\nc + +\nc + +", "passes"},
		{"misses", "p + +\np - -\nc + +\nc + +", "insensitive"},
		{"noise", "p + +\np + +\nc - -\nc + +", "noisy"},
		{"wording of a planted one", "p + -\np + +\nc + +\nc + +", "insensitive drifting"},
		{"wording of a clean one", "p + +\np + +\nc + -\nc + +", "noisy drifting"},
		{"chance", "p +- +-\np ++ ++\nc ++ ++", "insensitive unsteady"},
		{"one is open", "p + ?\np + +\nc + +", "unverified"},
		{"all is open", "p ? ?\nc ? ?", "unverified"},
		{"nothing clean was played", "p + +", "unverified"},
		{"nothing was played", "", "unverified"},
		{"everything at once", "p +- --\nc ?? +-", "insensitive noisy unsteady unverified"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Summarize(table(tt.rows))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range s.Table {
				got = append(got, string(d.Row))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
			for _, v := range []Verdict{Passes, Insensitive, Noisy, Drifting, Unsteady, Unverified} {
				if want := strings.Contains(" "+tt.want+" ", " "+string(v)+" "); s.Holds(v) != want {
					t.Errorf("row %s holds: %v, want %v", v, s.Holds(v), want)
				}
			}
			if want := tt.want != "passes" && tt.want != "unverified"; s.Fails() != want {
				t.Errorf("fails: %v, want %v", s.Fails(), want)
			}
		})
	}
}

// TestRepeats counts how often the least played phrasing of any canary was played.
func TestRepeats(t *testing.T) {
	for rows, want := range map[string]int{
		"p +++ ++-\nc ++? +++": 3, "p +++ ++\nc +++ +++": 2, "p +++ +++\nc + +++": 1, "p ++ ++\nc +++ +++": 2, "": 0,
	} {
		d, err := drift(table(rows))
		if err != nil || d.Repeats != want {
			t.Errorf("%q: %d repeats, %v; want %d", rows, d.Repeats, err, want)
		}
	}
}

// TestRows makes rows of results: those of canaries that were played.
func TestRows(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tokens := int64(7)
	result := func(id, planted string, outcome tare.Outcome, root string) run.Result {
		r := run.Result{Job: run.Job{
			Task:    &tare.Task{ID: "own/" + id, Canary: &tare.CanarySpec{Planted: planted}},
			Episode: tare.Episode{Task: "own/" + id, Level: "B", Trial: 3},
		}}
		r.Record.Trajectory.Started, r.Record.Trajectory.Finished = at, at.Add(1500*time.Millisecond)
		r.Verdict = tare.Verdict{Outcome: outcome, RootGate: root, Gates: []tare.Gate{
			{Name: tare.GateInfrastructure, Reason: "it ended"}, {Name: tare.GateDetection, Reason: "it says so"},
		}}
		return r
	}
	caught, quiet, ended := result("a", "a fault", tare.Pass, ""), result("b", "", tare.Fail, ""), result("c", "", tare.Unverified, tare.GateInfrastructure)
	caught.Record.Evidence.Canary = &tare.CanaryEvidence{Usage: &tare.Usage{InputTokens: &tokens}}
	ended.Record.Trajectory.Finished = at.Add(-time.Second) // the clock was set back
	ticket, unplayed := result("d", "", tare.Pass, ""), result("e", "", "", "")
	ticket.Job.Task.Canary = nil
	want := []Row{
		{Canary: "a", Phrasing: "B", Trial: 3, Planted: true, Outcome: tare.Pass, Reason: "it says so", Seconds: 1.5, Usage: &tare.Usage{InputTokens: &tokens}},
		{Canary: "b", Phrasing: "B", Trial: 3, Outcome: tare.Fail, Reason: "it says so", Seconds: 1.5},
		{Canary: "c", Phrasing: "B", Trial: 3, Outcome: tare.Unverified, Gate: tare.GateInfrastructure, Reason: "it ended"},
	}
	if d := cmp.Diff(want, Rows([]run.Result{caught, ticket, quiet, unplayed, ended})); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

func TestMeasures(t *testing.T) {
	s, err := Summarize(table("p + +\np + +\np + +\np + +\np - -\np ? +\nc + +"))
	if err != nil {
		t.Fatal(err)
	}
	cs := s.Sensitivity
	if cs.Right != 9 || cs.Wrong != 2 || cs.Unverified != 1 || cs.Canaries != 6 || cs.Bounds != [2]float64{0.75, 10.0 / 12} || cs.Digits != 0 {
		t.Errorf("%+v", cs)
	}
	// the interval counts six canaries and not twelve episodes: Wilson of 4.5 of 6 and of 5 of 6
	if math.Abs(cs.Interval.Low-0.3648) > 1e-3 || math.Abs(cs.Interval.High-0.9699) > 1e-3 {
		t.Errorf("%+v", cs.Interval)
	}
	if s.Ceiling != 10.0/12 {
		t.Errorf("ceiling %v", s.Ceiling)
	}
	if s.Drift.Flips() != 0 || len(s.Drift.Unverified) != 1 || s.Drift.Bounds != [2]float64{0, 1.0 / 7} {
		t.Errorf("%+v", s.Drift)
	}
	if s.Cost.Seconds != 28 || s.Cost.Rows != 14 {
		t.Errorf("%+v", s.Cost)
	}
	if _, known := s.Cost.Tokens.Each(14); known {
		t.Error("unknown tokens are known")
	}
}

// TestDriftByChance tells what wording does from what chance does.
func TestDriftByChance(t *testing.T) {
	for _, tt := range []struct {
		row, want string
	}{
		{"p ++++++ ------", "wording"},
		{"p ++++++ -----+", "wording"}, // Fisher: p 0.015
		{"p +++++- ----++", "chance"},  // p 0.24
		{"p +-+-+- +-+-+-", "chance"},
		{"p + -", "either"},
		{"p ++ --", "wording"},
		{"p + ?", "unverified"},
		{"p + +", ""},
		{"p ++ +?", ""},
	} {
		d, err := drift(table(tt.row))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for name, ids := range map[string][]string{"wording": d.Wording, "chance": d.Chance, "either": d.Either, "unverified": d.Unverified} {
			if len(ids) > 0 {
				got += name
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.row, got, tt.want)
		}
	}
}

func TestCostIsKnownOrNot(t *testing.T) {
	in, out, usd := int64(10), int64(5), 0.5
	rows := table("p + +\nc + +")
	for i := range rows {
		rows[i].Usage = &tare.Usage{InputTokens: &in, OutputTokens: &out, Dollars: &usd}
	}
	rows[0].Usage = &tare.Usage{InputTokens: &in, OutputTokens: &out}
	c := cost(rows)
	if each, ok := c.Tokens.Each(c.Rows); !ok || each != 15 {
		t.Errorf("tokens %v, %v", each, ok)
	}
	if each, ok := c.Dollars.Each(c.Rows); ok {
		t.Errorf("money is known of 3 of 4 episodes, and is said to be %v", each)
	}
}

func TestMoves(t *testing.T) {
	moves := Moves(table("p + +\nc + +"), table("p + -\nc ? +"))
	if len(moves) != 2 || moves[0].Canary != "c1" || moves[0].To != tare.Unverified || moves[1].Phrasing != "B" || moves[1].From != tare.Pass || moves[1].To != tare.Fail {
		t.Errorf("%+v", moves)
	}
	if m := Moves(table("p + +"), table("p + +")); m != nil {
		t.Errorf("%+v", m)
	}
}
