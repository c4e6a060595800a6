package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/judge"
	"tare/internal/report"
	"tare/internal/stats"
	"tare/internal/store"
	"tare/internal/workspace"
)

// maxRatings bounds a table of ratings, items or dimensions that somebody hands in, in bytes.
const maxRatings = 256 << 20

func (a *app) judge() *cobra.Command {
	c := &cobra.Command{
		Use:   "judge",
		Short: "Decide whether a model may judge, and have it judge",
		Long: `A judge that is a model is listened to, in one dimension at a time, only when it agrees with people and does not care about the
order in which it is shown things (docs/judges.md). A dimension that is not admitted has no effect on any verdict, and its items go to
'tare review'. A dimension that is admitted may add a softer score; no gate asks it.`,
	}
	c.AddCommand(a.judgeAdmit(), a.judgeRun(), a.judgeScores())
	return c
}

func (a *app) judgeAdmit() *cobra.Command {
	f := judge.DefaultFloors()
	metric := string(f.Metric)
	c := &cobra.Command{
		Use:   "admit RATINGS",
		Short: "Hold a judge's ratings against people's, and admit or refuse each dimension",
		Long: `admit reads a table of ratings, CSV with a head or JSON Lines: item, dimension, rater, kind (human or model), order (ab or ba: in which
order the parts of the item were shown), score (a number, abstain, or nothing where it is missing).

A dimension is admitted when the judge and the people agree by at least the floor (Krippendorff's alpha), the people agree among
themselves, to swap the order moves the mean of the judge's scores by no more than --shift, and the intervals of both figures (95 %,
items drawn anew) support it.

Exit codes: 0 every dimension is admitted; 1 one is not; 2 bad input.`,
		Example: "  tare judge admit ratings.csv\n  tare judge admit ratings.jsonl --agreement 0.7 --metric interval --format json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f.Metric = stats.Metric(metric)
			return a.admitRatings(args[0], f)
		},
	}
	fs := c.Flags()
	fs.Float64Var(&f.Agreement, "agreement", f.Agreement, "floor of the agreement between judge and people, and among people")
	fs.Float64Var(&f.Shift, "shift", f.Shift, "most that the mean may move when the order is swapped, in points")
	fs.IntVar(&f.Items, "items", f.Items, "fewest items that judge and people have both scored")
	fs.Float64Var(&f.Missing, "missing", f.Missing, "largest share of scores that the judge may owe")
	fs.StringVar(&metric, "metric", metric, "of the agreement that counts: ordinal or interval")
	fs.IntVar(&f.Resamples, "resamples", f.Resamples, "samples drawn for an interval")
	fs.Uint64Var(&f.Seed, "seed", f.Seed, "seed of these")
	return c
}

func readTable(path string) (judge.Table, error) {
	b, err := workspace.ReadFile(path, maxRatings)
	if err != nil {
		return judge.Table{}, usage("reading ratings: %w", err)
	}
	t, err := judge.Read(path, b)
	if err != nil {
		return t, usage("%w", err)
	}
	return t, nil
}

func (a *app) admitRatings(path string, f judge.Floors) error {
	t, err := readTable(path)
	if err != nil {
		return err
	}
	admission, err := judge.Admit(t, f, time.Now())
	if err != nil {
		return usage("%s: %w", path, err)
	}
	ratings, err := t.Entry()
	if err != nil {
		return err
	}
	entry, err := tare.NewEntry(admission)
	if err != nil {
		return err
	}
	if err := a.canKeep(); err != nil {
		return err
	}
	for _, e := range []tare.Entry{ratings, entry} {
		if err := a.files().Put(store.Admissions, e); err != nil {
			return err
		}
	}
	refused := 0
	for _, d := range admission.Dimensions {
		if !d.Admitted {
			refused++
		}
	}
	if a.json() {
		err = a.writeJSON(admission)
	} else {
		err = a.writeAdmission(admission)
	}
	if err == nil && refused > 0 {
		a.note("\nitems of what is not admitted wait for a person: tare review")
		return exit{exitFailed, nil}
	}
	return err
}

// estimated shows a figure and its interval.
func estimated(e judge.Estimate) string {
	switch {
	case e.Value == nil:
		return "–"
	case e.Interval == nil:
		return fmt.Sprintf("%.2f", *e.Value)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", *e.Value, e.Interval.Low, e.Interval.High)
}

func (a *app) writeAdmission(adm judge.Admission) error {
	cols := []report.Column{
		{Head: "judge", Min: 8, Spare: 1}, {Head: "dimension", Min: 14}, {Head: "", Min: 8}, {Head: "items", Right: true},
		{Head: "people, alpha", Right: true}, {Head: "judge, alpha", Right: true}, {Head: "shift on swap", Right: true},
	}
	var lines []report.Line
	admitted := 0
	for _, d := range adm.Dimensions {
		word := "refused"
		if d.Admitted {
			word, admitted = "admitted", admitted+1
		}
		l := report.Line{Cells: []string{
			d.Judge, d.Name, word, fmt.Sprint(d.Cells), estimated(d.Reference.By(adm.Floors.Metric)), estimated(d.Agreement.By(adm.Floors.Metric)), estimated(d.Shift),
		}}
		for _, r := range d.Reasons {
			l.Below = append(l.Below, printable(r.Text))
		}
		other, name := d.Agreement.Interval, "interval alpha"
		if adm.Floors.Metric == stats.IntervalScale {
			other, name = d.Agreement.Ordinal, "ordinal alpha"
		}
		l.Below = append(l.Below, fmt.Sprintf("beside it: %s %s; quadratic kappa %s, among people %s; %d scores abstained, %d missing", name, estimated(other), estimated(d.Agreement.Kappa), estimated(d.Reference.Kappa), d.Abstained, d.Missing))
		lines = append(lines, l)
	}
	if err := report.Table(a.stdout, cols, lines, a.options()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d of %s admitted; floor %.2f (%s), shift at most %.2f\n", admitted, many(len(adm.Dimensions), "dimension"), adm.Floors.Agreement, adm.Floors.Metric, adm.Floors.Shift)
	return err
}

type judgeRunFlags struct {
	judge, dimensions, out string
	limit                  time.Duration
}

func (a *app) judgeRun() *cobra.Command {
	var f judgeRunFlags
	c := &cobra.Command{
		Use:   "run ITEMS --dimensions FILE --judge cmd:SCRIPT|anthropic:MODEL|openai:MODEL --out RATINGS",
		Short: "Have a judge fill a table of ratings, each cell in both orders",
		Long: `run puts each item in each dimension to a judge, twice, with its parts in both orders, and adds the answers to a table. The same command
again asks only what has no answer yet.

ITEMS is JSON Lines: item, a, b (the two parts) and, if wanted, context. The dimensions are JSON Lines: dimension, rubric, low, high.
A model is asked by its API (ANTHROPIC_API_KEY, OPENAI_API_KEY), with a prompt whose hash is in its name. A script gets a question as JSON on its standard input and prints {"score": N} or {"abstain": true}. It runs as it is, with no sandbox.
Its name in the table holds its hash: another script is another judge, and is admitted anew.

Exit codes: 0 every cell has an answer; 3 some have none; 130 interrupted.`,
		Example: "  tare judge run items.jsonl --dimensions scales.jsonl --judge cmd:./judge.sh --out ratings.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.fillRatings(c.Context(), args[0], f) },
	}
	c.Flags().StringVar(&f.judge, "judge", "", "cmd:SCRIPT, an executable file, or a model: anthropic:MODEL, openai:MODEL, openai-chat:MODEL")
	a.live.modelFlags(c.Flags())
	c.Flags().StringVar(&f.dimensions, "dimensions", "", "file with the dimensions")
	c.Flags().StringVar(&f.out, "out", "", "table to add to, in JSON Lines")
	c.Flags().DurationVar(&f.limit, "limit", 2*time.Minute, "time limit of an answer")
	return c
}

// openJudge makes a judge by its name.
func (a *app) openJudge(name string, limit time.Duration) (judge.Judge, error) {
	if isLive(name) {
		if err := a.live.check(name); err != nil {
			return nil, err
		}
		m, err := a.live.model(name)
		if err != nil {
			return nil, err
		}
		return judge.OpenModel(m, a.live.label(name), limit), nil
	}
	j, err := judge.OpenCommand(strings.TrimPrefix(name, "cmd:"), limit)
	if err != nil {
		return nil, usage("judge %s: %w", name, err)
	}
	return j, nil
}

func (a *app) fillRatings(ctx context.Context, path string, f judgeRunFlags) error {
	script, ok := strings.CutPrefix(f.judge, "cmd:")
	if !isLive(f.judge) && (!ok || script == "") || f.dimensions == "" || f.out == "" || f.limit <= 0 {
		return usage("judge run takes --judge cmd:SCRIPT, anthropic:MODEL or openai:MODEL, --dimensions and --out; see 'tare judge run --help'")
	}
	b, err := workspace.ReadFile(path, maxRatings)
	if err != nil {
		return usage("reading items: %w", err)
	}
	items, err := judge.ReadItems(path, b)
	if err != nil {
		return usage("%w", err)
	}
	if b, err = workspace.ReadFile(f.dimensions, maxRatings); err != nil {
		return usage("reading dimensions: %w", err)
	}
	scales, err := judge.ReadScales(f.dimensions, b)
	if err != nil {
		return usage("%w", err)
	}
	j, err := a.openJudge(f.judge, f.limit)
	if err != nil {
		return err
	}
	done, err := a.resumeTable(f.out)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(f.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return usage("writing %s: %w", f.out, bare(err))
	}
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt)
	defer cancel()
	bar := a.progress()
	asked, silent, failed, all := 0, 0, 0, 0
	keep := func(r judge.Rating) error {
		line, err := r.Line()
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("writing %s: %w", f.out, err)
		}
		return out.Sync()
	}
	err = judge.Fill(ctx, j, items, scales, done, keep, func(c judge.Cell) {
		asked, all = asked+1, c.All
		bar.say("%d of %d: %s, %s, %s", c.Done, c.All, c.Question.Item, c.Question.Dimension, c.Question.Order)
		switch {
		case c.Err != nil:
			failed++
			bar.clear()
			a.note("no answer: %s, %s, %s: %s", printable(c.Question.Item), printable(c.Question.Dimension), c.Question.Order, printable(c.Err.Error()))
		case c.Answer.Abstain:
			silent++
		}
	})
	bar.clear()
	if err = errors.Join(err, out.Close()); err != nil {
		if errors.Is(err, context.Canceled) {
			return exit{exitInterrupted, fmt.Errorf("interrupted; what was answered is in %s, and the same command goes on from there", f.out)}
		}
		return err
	}
	all = 2 * len(items) * len(scales)
	if a.json() {
		err = a.writeJSON(map[string]any{"schema": "tare.judge-run/1", "judge": j.Name(), "cells": all, "asked": asked, "abstained": silent, "failed": failed, "file": f.out})
	} else {
		_, err = fmt.Fprintf(a.stdout, "%s: %d of %d cells asked now, %d abstained, %d without an answer; %s\n", j.Name(), asked, all, silent, failed, f.out)
	}
	if err == nil && failed > 0 {
		return exit{exitUnverified, nil}
	}
	return err
}

// resumeTable reads the table that is to be added to, if there is one, and cuts off half a line that a killed program left.
func (a *app) resumeTable(path string) (judge.Table, error) {
	b, err := workspace.ReadFile(path, maxRatings)
	if errors.Is(err, fs.ErrNotExist) {
		return judge.Table{}, nil
	}
	if err != nil {
		return judge.Table{}, usage("reading %s: %w", path, err)
	}
	if whole := bytes.LastIndexByte(b, '\n') + 1; whole < len(b) {
		if _, cut := judge.Read(path, b[whole:]); cut == nil { // only its line break is missing
			b = append(b, '\n')
			err = os.WriteFile(path, b, 0o644)
		} else {
			b = b[:whole]
			err = os.Truncate(path, int64(whole))
		}
		if err != nil {
			return judge.Table{}, usage("mending the end of %s: %w", path, err)
		}
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return judge.Table{}, nil
	}
	if bytes.TrimSpace(b)[0] != '{' {
		return judge.Table{}, usage("%s is not in JSON Lines: choose another --out", path)
	}
	t, err := judge.Read(path, b)
	if err != nil {
		return t, usage("%w", err)
	}
	return t, nil
}

// admissions reads what was decided of judges, the latest decision on each judge and dimension.
func (a *app) admissions() ([]admissionEntry, error) {
	entries, err := a.files().All(store.Admissions)
	if err != nil {
		return nil, err
	}
	latest := map[judged]time.Time{}
	var out []admissionEntry
	for _, e := range entries {
		if e.Schema != judge.AdmissionSchema {
			continue
		}
		var adm judge.Admission
		if err := json.Unmarshal(e.Bytes, &adm); err != nil {
			return nil, fmt.Errorf("reading an admission: %w", err)
		}
		out = append(out, admissionEntry{adm, e.Hash})
		for _, d := range adm.Dimensions {
			if k := (judged{d.Judge, d.Name}); !latest[k].After(adm.Made) {
				latest[k] = adm.Made
			}
		}
	}
	for i := range out {
		var current []judge.Dimension
		for _, d := range out[i].fact.Dimensions {
			if out[i].fact.Made.Equal(latest[judged{d.Judge, d.Name}]) {
				current = append(current, d)
			}
		}
		out[i].fact.Dimensions = current
	}
	return out, nil
}

// An admissionEntry is an admission with the hash of its entry.
type admissionEntry struct {
	fact judge.Admission
	hash tare.Digest
}

// judged is one dimension of one judge.
type judged struct{ judge, dimension string }

func (a *app) judgeScores() *cobra.Command {
	return &cobra.Command{
		Use:   "scores RATINGS",
		Short: "Show a judge's scores in the dimensions that are admitted, and in no other",
		Long: `scores shows, of a table of ratings, what judges said in dimensions that 'tare judge admit' admitted in this store, of items that they scored
in both orders. Nothing else is shown, and nothing of it enters a verdict.`,
		Example: "  tare judge scores this-week.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := readTable(args[0])
			if err != nil {
				return err
			}
			all, err := a.admissions()
			if err != nil {
				return err
			}
			n := 0
			for _, adm := range all {
				for _, s := range adm.fact.Scores(t) {
					n++
					if a.json() {
						err = a.writeJSON(map[string]any{"schema": "tare.soft-score/1", "judge": s.Judge, "dimension": s.Dimension, "item": s.Item, "score": s.Score, "admission": adm.hash})
					} else {
						_, err = fmt.Fprintf(a.stdout, "%-24s  %-20s  %6.2f  %s\n", printable(s.Item), printable(s.Dimension), s.Score, printable(s.Judge))
					}
					if err != nil {
						return err
					}
				}
			}
			if n == 0 {
				a.note("no judge of %s is admitted here in a dimension that it scored in both orders", printable(args[0]))
			}
			return nil
		},
	}
}
