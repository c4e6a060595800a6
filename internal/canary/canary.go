// Package canary measures a whole harness by canaries: planted defects and clean controls that were sent through it. It
// counts verdicts that the oracle gave and says what they permit; it runs nothing.
package canary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/run"
	"tare/internal/stats"
)

// A Row is one episode of a canary.
type Row struct {
	Canary   string       `json:"canary"`
	Phrasing string       `json:"phrasing"`
	Trial    int          `json:"trial"`
	Planted  bool         `json:"planted"`
	Outcome  tare.Outcome `json:"outcome"` // PASS: caught, or quiet
	Gate     string       `json:"gate,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Seconds  float64      `json:"seconds"`
	Usage    *tare.Usage  `json:"usage,omitempty"`
}

// Rows are the episodes of a run of canaries that were played; others are left out.
func Rows(results []run.Result) []Row {
	var out []Row
	for _, r := range results {
		if !r.Played() || r.Job.Task.Canary == nil {
			continue
		}
		_, id, _ := strings.Cut(r.Job.Episode.Task, "/")
		tr := r.Record.Trajectory
		row := Row{
			Canary: id, Phrasing: r.Job.Episode.Level, Trial: r.Job.Episode.Trial, Planted: r.Job.Task.Canary.Planted != "",
			Outcome: r.Verdict.Outcome, Gate: r.Verdict.RootGate, Seconds: max(0, tr.Finished.Sub(tr.Started).Seconds()),
		}
		name := row.Gate
		if name == "" {
			name = tare.GateDetection
		}
		if g, ok := r.Verdict.Gate(name); ok {
			row.Reason = g.Reason
		}
		if ev := r.Record.Evidence.Canary; ev != nil {
			row.Usage = ev.Usage
		}
		out = append(out, row)
	}
	return out
}

// A Rate is a share of episodes. Its interval counts canaries and not episodes, since those of one canary are not independent.
type Rate struct {
	Right      int            `json:"right"`
	Wrong      int            `json:"wrong"`
	Unverified int            `json:"unverified"`
	Canaries   int            `json:"canaries"`
	Bounds     [2]float64     `json:"bounds"`   // the rate, were all that is UNVERIFIED wrong, and were it right
	Interval   stats.Interval `json:"interval"` // Wilson's, from the lower bound's low end to the upper one's high end
	Digits     int            `json:"digits"`   // after the point that the interval supports
}

// Rows is how many episodes there are.
func (r Rate) Rows() int { return r.Right + r.Wrong + r.Unverified }

func rate(rows []Row, planted bool) (Rate, error) {
	var r Rate
	seen := map[string]bool{}
	for _, row := range rows {
		if row.Planted != planted {
			continue
		}
		seen[row.Canary] = true
		switch row.Outcome {
		case tare.Pass:
			r.Right++
		case tare.Fail:
			r.Wrong++
		default:
			r.Unverified++
		}
	}
	r.Canaries = len(seen)
	return r, r.measure()
}

// measure fills in what follows from the counts.
func (r *Rate) measure() error {
	n := float64(r.Rows())
	if n == 0 {
		r.Bounds, r.Interval = [2]float64{0, 1}, stats.Interval{Low: 0, High: 1}
		return nil
	}
	r.Bounds = [2]float64{float64(r.Right) / n, float64(r.Right+r.Unverified) / n}
	c := float64(r.Canaries)
	low, err := stats.Wilson(r.Bounds[0]*c, c)
	if err != nil {
		return err
	}
	high, err := stats.Wilson(r.Bounds[1]*c, c)
	if err != nil {
		return err
	}
	r.Interval = stats.Interval{Low: low.Low, High: high.High}
	r.Digits = stats.Digits(r.Interval)
	return nil
}

// A Drift is how many canaries change their verdict with the wording.
type Drift struct {
	Canaries   int            `json:"canaries"`
	Wording    []string       `json:"wording,omitempty"`    // they differ by wording: steady within each, or more often than chance allows
	Either     []string       `json:"either,omitempty"`     // they differ, and without repeats nobody can say whether by wording
	Chance     []string       `json:"chance,omitempty"`     // they differ within one wording
	Unverified []string       `json:"unverified,omitempty"` // it cannot be told, for want of a verdict
	Repeats    int            `json:"repeats"`              // of each wording, at least
	Bounds     [2]float64     `json:"bounds"`
	Interval   stats.Interval `json:"interval"`
	Digits     int            `json:"digits"`
}

// Flips is how many canaries the rate counts: those that differ by wording and those of which that cannot be excluded.
func (d Drift) Flips() int { return len(d.Wording) + len(d.Either) }

// significant is the p below which a difference between wordings is not put down to chance.
const significant = 0.05

func drift(rows []Row) (Drift, error) {
	type tally struct{ right, wrong, open int }
	d := Drift{}
	var order []string
	by := map[string]map[string]*tally{}
	for _, r := range rows {
		if by[r.Canary] == nil {
			by[r.Canary] = map[string]*tally{}
			order = append(order, r.Canary)
		}
		t := by[r.Canary][r.Phrasing]
		if t == nil {
			t = &tally{}
			by[r.Canary][r.Phrasing] = t
		}
		switch r.Outcome {
		case tare.Pass:
			t.right++
		case tare.Fail:
			t.wrong++
		default:
			t.open++
		}
	}
	for _, id := range order {
		mixed, open := false, len(by[id]) < 2
		var most, least *tally
		for _, t := range by[id] {
			if n := t.right + t.wrong + t.open; d.Repeats == 0 || n < d.Repeats {
				d.Repeats = n
			}
			mixed = mixed || t.right > 0 && t.wrong > 0
			open = open || t.right+t.wrong == 0
			if t.right+t.wrong == 0 {
				continue
			}
			share := func(t *tally) float64 { return float64(t.right) / float64(t.right+t.wrong) }
			if most == nil || share(t) > share(most) {
				most = t
			}
			if least == nil || share(t) < share(least) {
				least = t
			}
		}
		differ := most != nil && most != least && most.right*(least.right+least.wrong) != least.right*(most.right+most.wrong)
		single := differ && most.right+most.wrong == 1 && least.right+least.wrong == 1
		p := 1.0
		if differ && mixed {
			var err error
			if p, err = stats.Fisher(most.right, most.wrong, least.right, least.wrong); err != nil {
				return d, err
			}
		}
		switch {
		case single:
			d.Either = append(d.Either, id)
		case differ && (!mixed || p < significant):
			d.Wording = append(d.Wording, id)
		case mixed:
			d.Chance = append(d.Chance, id)
		case open:
			d.Unverified = append(d.Unverified, id)
		}
	}
	d.Canaries = len(order)
	return d, d.measure()
}

func (d *Drift) measure() error {
	n := float64(d.Canaries)
	if n == 0 {
		d.Bounds, d.Interval = [2]float64{0, 1}, stats.Interval{Low: 0, High: 1}
		return nil
	}
	k := float64(d.Flips())
	low, err := stats.Wilson(k, n)
	if err != nil {
		return err
	}
	high, err := stats.Wilson(k+float64(len(d.Unverified)), n)
	if err != nil {
		return err
	}
	d.Bounds = [2]float64{k / n, (k + float64(len(d.Unverified))) / n}
	d.Interval = stats.Interval{Low: low.Low, High: high.High}
	d.Digits = stats.Digits(d.Interval)
	return nil
}

// A Cost is what episodes took. What is known of some episodes only is no total: Known says of how many.
type Cost struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"` // of all of them
	Tokens  Amount  `json:"tokens"`  // in and out
	Dollars Amount  `json:"dollars"`
}

// An Amount is a sum over the episodes of which it is known.
type Amount struct {
	Known int     `json:"known"`
	Sum   float64 `json:"sum"`
}

// Each is the mean over n episodes; not known unless it is of every one.
func (a Amount) Each(n int) (float64, bool) {
	if n == 0 || a.Known < n {
		return 0, false
	}
	return a.Sum / float64(n), true
}

func cost(rows []Row) Cost {
	c := Cost{Rows: len(rows)}
	for _, r := range rows {
		c.Seconds += r.Seconds
		if u := r.Usage; u != nil {
			if u.InputTokens != nil && u.OutputTokens != nil {
				c.Tokens.Known++
				c.Tokens.Sum += float64(*u.InputTokens + *u.OutputTokens)
			}
			if u.Dollars != nil {
				c.Dollars.Known++
				c.Dollars.Sum += *u.Dollars
			}
		}
	}
	return c
}

// A Summary is what canaries say of a harness.
type Summary struct {
	Sensitivity Rate       `json:"canary_sensitivity"`
	Quiet       Rate       `json:"quiet_rate"`
	Drift       Drift      `json:"paraphrase_drift"`
	Cost        Cost       `json:"cost"`
	Table       []Decision `json:"decision"` // every row that holds
	Ceiling     float64    `json:"ceiling"`  // of every score that the same adapter reports: the upper bound of the sensitivity
}

// Summarize measures a harness by its rows.
func Summarize(rows []Row) (Summary, error) {
	var s Summary
	var err error
	if s.Sensitivity, err = rate(rows, true); err != nil {
		return s, fmt.Errorf("measuring the sensitivity: %w", err)
	}
	if s.Quiet, err = rate(rows, false); err != nil {
		return s, fmt.Errorf("measuring the quiet rate: %w", err)
	}
	if s.Drift, err = drift(rows); err != nil {
		return s, fmt.Errorf("measuring the drift: %w", err)
	}
	s.Cost = cost(rows)
	s.Ceiling = s.Sensitivity.Bounds[1]
	s.Table = decide(s)
	return s, nil
}

// A Move is a canary's verdict that is another in a second run.
type Move struct {
	Canary   string       `json:"canary"`
	Phrasing string       `json:"phrasing"`
	Trial    int          `json:"trial"`
	From     tare.Outcome `json:"from,omitempty"` // "": it was not played
	To       tare.Outcome `json:"to,omitempty"`
	Why      string       `json:"why"` // of the later one, else of the former
}

// Moves lists what differs between two runs, by canary, phrasing and trial.
func Moves(from, to []Row) []Move {
	type key struct {
		canary, phrasing string
		trial            int
	}
	keyOf := func(r Row) key { return key{r.Canary, r.Phrasing, r.Trial} }
	all := map[key][2]*Row{}
	for side, list := range [][]Row{from, to} {
		for i := range list {
			k := keyOf(list[i])
			pair := all[k]
			pair[side] = &list[i]
			all[k] = pair
		}
	}
	var out []Move
	for k, pair := range all {
		m := Move{Canary: k.canary, Phrasing: k.phrasing, Trial: k.trial}
		if pair[0] != nil {
			m.From, m.Why = pair[0].Outcome, pair[0].Reason
		}
		if pair[1] != nil {
			m.To, m.Why = pair[1].Outcome, pair[1].Reason
		}
		if m.From != m.To {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Move) int {
		return cmp.Or(cmp.Compare(a.Canary, b.Canary), cmp.Compare(a.Phrasing, b.Phrasing), cmp.Compare(a.Trial, b.Trial))
	})
	return out
}
