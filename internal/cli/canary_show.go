package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/canary"
	"tare/internal/report"
	"tare/internal/run"
)

const canarySchema = "tare.canary/1"

// areCanaries reports whether a run is one of canaries.
func areCanaries(results []run.Result) bool {
	return len(results) > 0 && !slices.ContainsFunc(results, func(r run.Result) bool { return r.Job.Task.Canary == nil })
}

// showCanaries prints what canaries say of a harness.
func (a *app) showCanaries(id string, results []run.Result, project int) error {
	rows := canary.Rows(results)
	s, err := canary.Summarize(rows)
	if err != nil {
		return err
	}
	if a.json() {
		out := map[string]any{"schema": canarySchema, "run": id, "agent": results[0].Job.Episode.Agent, "summary": s, "rows": rows}
		if project > 0 {
			out["projection"] = projection(s.Cost, project)
		}
		return a.writeJSON(out)
	}
	if err := a.canaryTable(rows); err != nil {
		return err
	}
	a.say("")
	for _, l := range measures(s) {
		a.say("%s", l)
	}
	a.say("")
	for _, l := range costLines(s.Cost, project) {
		a.say("%s", l)
	}
	a.say("\nWhat this supports:")
	for _, d := range s.Table {
		a.say("  %s: %s", d.When, d.Permits)
	}
	if !s.Holds(canary.Passes) {
		a.say("  ceiling of every score that comes through this adapter: %s", percent(s.Ceiling))
	}
	return nil
}

// say prints a line for people, wrapped.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stdout, wrapLines(printable(fmt.Sprintf(format, args...)), widthOf(a.stdout)))
}

// canaryTable prints a line for each canary, a column for each wording, and below it why a verdict is not the right one.
func (a *app) canaryTable(rows []canary.Row) error {
	var ids, phrasings []string
	by := map[string]map[string][]canary.Row{}
	for _, r := range rows {
		if by[r.Canary] == nil {
			by[r.Canary] = map[string][]canary.Row{}
			ids = append(ids, r.Canary)
		}
		if !slices.Contains(phrasings, r.Phrasing) {
			phrasings = append(phrasings, r.Phrasing)
		}
		by[r.Canary][r.Phrasing] = append(by[r.Canary][r.Phrasing], r)
	}
	cols := []report.Column{{Head: "canary", Min: 12}, {Head: ""}}
	for _, p := range phrasings {
		cols = append(cols, report.Column{Head: p})
	}
	var lines []report.Line
	for _, id := range ids {
		l := report.Line{Cells: []string{id, "clean"}}
		for _, p := range phrasings {
			list := by[id][p]
			if len(list) > 0 && list[0].Planted {
				l.Cells[1] = "planted"
			}
			l.Cells = append(l.Cells, canaryCell(list))
			for _, r := range list {
				if r.Outcome != tare.Pass {
					l.Below = append(l.Below, fmt.Sprintf("%s: %s: %s", p, r.Gate, printable(clip(r.Reason, 300))))
					break
				}
			}
		}
		lines = append(lines, l)
	}
	return report.Table(a.stdout, cols, lines, a.options())
}

// canaryCell says how the episodes of a canary in one wording came out.
func canaryCell(rows []canary.Row) string {
	if len(rows) == 0 {
		return "–"
	}
	n := map[tare.Outcome]int{}
	for _, r := range rows {
		n[r.Outcome]++
	}
	word := map[tare.Outcome]string{tare.Pass: "✓ quiet", tare.Fail: "✗ noise", tare.Unverified: "? unverified"}
	if rows[0].Planted {
		word = map[tare.Outcome]string{tare.Pass: "✓ caught", tare.Fail: "✗ missed", tare.Unverified: "? unverified"}
	}
	var parts []string
	for _, o := range []tare.Outcome{tare.Pass, tare.Fail, tare.Unverified} {
		switch {
		case n[o] == len(rows) && n[o] == 1:
			parts = append(parts, word[o])
		case n[o] > 0:
			parts = append(parts, fmt.Sprintf("%s %d/%d", word[o], n[o], len(rows)))
		}
	}
	return strings.Join(parts, ", ")
}

// percent shows a share; no digit after the point of it can be told from so few.
func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// measures says what the three rates are, with what they rest on and how fine they are.
func measures(s canary.Summary) []string {
	one := func(name string, r canary.Rate) string {
		if r.Rows() == 0 {
			return name + ": none was played, so it is unknown"
		}
		l := fmt.Sprintf("%s: %d of %d, from %s; between %s and %s (95 %%)", name, r.Right, r.Rows(), manyCanaries(r.Canaries), percent(r.Interval.Low), percent(r.Interval.High))
		if r.Unverified > 0 {
			l += fmt.Sprintf("; %d UNVERIFIED, so the rate is between %s and %s", r.Unverified, percent(r.Bounds[0]), percent(r.Bounds[1]))
		}
		return l + "; " + resolution(r.Canaries, r.Digits)
	}
	d := s.Drift
	drift := fmt.Sprintf("paraphrase drift (PD): %d of %s; between %s and %s (95 %%)", d.Flips(), manyCanaries(d.Canaries), percent(d.Interval.Low), percent(d.Interval.High))
	for _, g := range []struct {
		ids  []string
		what string
	}{
		{d.Wording, "by wording"}, {d.Either, "by wording or by chance, which one episode of each wording cannot tell"},
		{d.Chance, "within one wording, so by chance"}, {d.Unverified, "unknown for want of a verdict"},
	} {
		if len(g.ids) > 0 {
			drift += fmt.Sprintf("; %s: %s", g.what, strings.Join(g.ids, ", "))
		}
	}
	return []string{one("canary sensitivity (CS)", s.Sensitivity), one("quiet rate (QR)", s.Quiet), drift + "; " + resolution(d.Canaries, d.Digits)}
}

// resolution says how fine a rate is.
func resolution(canaries, digits int) string {
	if canaries == 0 {
		return "no resolution"
	}
	step := fmt.Sprintf("one canary is %.0f points", 100/float64(canaries))
	if digits == 0 {
		return step + ", and no digit after the point is supported"
	}
	return fmt.Sprintf("%s, and %s after the point supported", step, many(digits, "digit"))
}

// A projected is what a number of episodes would take.
type projected struct {
	Episodes int      `json:"episodes"`
	Seconds  float64  `json:"seconds"`
	Tokens   *float64 `json:"tokens"`  // nil: unknown
	Dollars  *float64 `json:"dollars"` // likewise
}

func projection(c canary.Cost, n int) projected {
	p := projected{Episodes: n}
	if c.Rows > 0 {
		p.Seconds = c.Seconds / float64(c.Rows) * float64(n)
	}
	times := func(a canary.Amount) *float64 {
		each, known := a.Each(c.Rows)
		if !known {
			return nil
		}
		each *= float64(n)
		return &each
	}
	p.Tokens, p.Dollars = times(c.Tokens), times(c.Dollars)
	return p
}

func costLines(c canary.Cost, project int) []string {
	if c.Rows == 0 {
		return nil
	}
	amount := func(a canary.Amount, unit string) string {
		if each, known := a.Each(c.Rows); known {
			return fmt.Sprintf("%.4g %s", each, unit)
		}
		if a.Known > 0 {
			return fmt.Sprintf("%s unknown (told of %d of %d)", unit, a.Known, c.Rows)
		}
		return unit + " unknown"
	}
	out := []string{fmt.Sprintf("cost per canary: %.1f s, %s, %s", c.Seconds/float64(c.Rows), amount(c.Tokens, "tokens"), amount(c.Dollars, "dollars"))}
	if project > 0 {
		p := projection(c, project)
		l := fmt.Sprintf("%d episodes would take %s one after another", project, took(time.Duration(p.Seconds*float64(time.Second))))
		for _, x := range []struct {
			v    *float64
			unit string
		}{{p.Tokens, "tokens"}, {p.Dollars, "dollars"}} {
			if x.v == nil {
				l += ", " + x.unit + " unknown"
			} else {
				l += fmt.Sprintf(", %.4g %s", *x.v, x.unit)
			}
		}
		out = append(out, l)
	}
	return out
}

// diffCanaries prints the canaries whose verdict moved between two runs, and what they say of the harness before and after.
func (a *app) diffCanaries(from, to string, x, y []run.Result) error {
	before, after := canary.Rows(x), canary.Rows(y)
	moves := canary.Moves(before, after)
	sx, err := canary.Summarize(before)
	if err != nil {
		return err
	}
	sy, err := canary.Summarize(after)
	if err != nil {
		return err
	}
	if a.json() {
		if err := a.writeJSON(map[string]any{"schema": "tare.canary-diff/1", "from": from, "to": to, "moves": moves, "before": sx, "after": sy}); err != nil {
			return err
		}
	} else {
		for _, m := range moves {
			a.say("%s, wording %s, trial %d: %s becomes %s: %s", m.Canary, m.Phrasing, m.Trial, orNone(m.From), orNone(m.To), clip(m.Why, 300))
		}
		a.say("%d of %d verdicts moved", len(moves), len(after))
		for _, l := range measures(sy) {
			a.say("%s", l)
		}
	}
	if len(moves) > 0 {
		return exit{exitFailed, nil}
	}
	return nil
}

func orNone(o tare.Outcome) string {
	if o == "" {
		return "not played"
	}
	return string(o)
}

func manyCanaries(n int) string {
	if n == 1 {
		return "1 canary"
	}
	return fmt.Sprintf("%d canaries", n)
}
