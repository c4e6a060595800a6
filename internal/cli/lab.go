package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"tare"
	"tare/internal/oracle"
	"tare/internal/proof"
	"tare/internal/report"
)

// A labRow is one condition of the experiment and what the evaluators made of it.
type labRow struct {
	Schema    string           `json:"schema"`
	Task      string           `json:"task"`
	Condition string           `json:"condition"`
	Test      string           `json:"test"`
	Got       proof.LabRewards `json:"got"`
	Expected  proof.LabRewards `json:"expected"`
	Agree     bool             `json:"agree"` // the keyword evaluator and the grader
	OK        bool             `json:"ok"`
	Reason    string           `json:"reason"` // the grader's
}

// lab plays the experiment: four tests on a right fix of two tickets, before an evaluator that looks for words, one that
// runs the test on the unfixed seed, and the grader.
func (a *app) lab(ctx context.Context) error {
	tasks, err := a.tasks(proof.LabTasks())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return a.withRig(ctx, func(ctx context.Context, r *rig) error {
		bar := a.progress()
		defer bar.clear()
		var rows []labRow
		for _, t := range tasks {
			conditions, err := proof.LabConditions(t)
			if err != nil {
				return err
			}
			for _, c := range conditions {
				bar.say("playing %s: %s", t.ID, c.Name)
				row, err := r.labRow(ctx, t, c)
				if err != nil {
					return err
				}
				rows = append(rows, row)
			}
		}
		bar.clear()
		return a.showLab(rows)
	})
}

func (r *rig) labRow(ctx context.Context, t *tare.Task, c proof.LabCondition) (labRow, error) {
	control := tare.Control{Name: "lab:" + strings.ReplaceAll(c.Name, " ", "-"), Origin: tare.FromWorthless, Apply: []tare.Tree{t.References[0].Fix, c.Test}}
	res, err := r.judgeControl(ctx, t, control)
	if err != nil {
		return labRow{}, err
	}
	row := labRow{Schema: "tare.lab/1", Task: t.ID, Condition: c.Name, Test: c.What, Expected: c.Expected}
	g, _ := res.Verdict.Gate(tare.GateRegressionTest)
	row.Reason = g.Reason
	row.Got.Grader = rewardOf(res.Verdict)
	row.Got.Seed = rewardOf(oracle.JudgeWith(onTheSeedAlone(), t, res.Record))
	row.Got.Words = row.Got.Grader
	if g.Outcome != tare.Blocked { // all but the regression test is right
		row.Got.Words = 0.85
		if proof.KeywordEvaluator(t.ID, c.Test) {
			row.Got.Words = 1
		}
	}
	row.Agree = row.Got.Words == row.Got.Grader
	row.OK = row.Got == row.Expected
	return row, nil
}

// onTheSeedAlone are the rules of an evaluator that asks of a test only that it passes on the fix and fails on the seed.
func onTheSeedAlone() []oracle.Rule {
	return slices.DeleteFunc(oracle.Rules(), func(r oracle.Rule) bool {
		asked := []string{"regression_test/none", "regression_test/fix", "regression_test/seed"}
		return r.Gate == tare.GateRegressionTest && strings.HasPrefix(r.ID, "regression_test/") && !slices.Contains(asked, r.ID)
	})
}

// rewardOf is a verdict's reward, -1 when it has none.
func rewardOf(v tare.Verdict) float64 {
	if v.Reward == nil {
		return -1
	}
	return *v.Reward
}

func (a *app) showLab(rows []labRow) error {
	wrong := 0
	cols := []report.Column{
		{Head: "a right fix with", Min: 18}, {Head: "test"}, {Head: "words", Right: true}, {Head: "seed only", Width: 9, Min: 5, Right: true}, {Head: "tare", Right: true}, {Min: 10, Spare: 1},
	}
	var lines []report.Line
	for _, r := range rows {
		if !r.OK {
			wrong++
		}
		if a.json() {
			if err := a.writeJSON(r); err != nil {
				return err
			}
			continue
		}
		note := ""
		if !r.Agree {
			note = "the words deceive"
		} else if r.Got.Seed != r.Got.Grader {
			note = "the seed alone deceives"
		}
		number := func(f float64) string { return fmt.Sprintf("%.2f", f) }
		l := report.Line{Cells: []string{r.Task, r.Condition, number(r.Got.Words), number(r.Got.Seed), number(r.Got.Grader), note}}
		if !r.OK {
			l.Below = []string{fmt.Sprintf("WRONG: expected %.2f %.2f %.2f", r.Expected.Words, r.Expected.Seed, r.Expected.Grader)}
		}
		lines = append(lines, l)
	}
	if !a.json() {
		if err := report.Table(a.stdout, cols, lines, a.options()); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, `
words      the test's text holds the right words
seed only  the test passes on the fix and fails on the unfixed seed
tare       all rules of the regression gate

%d conditions, %d not as they must be
`, len(rows), wrong)
	}
	if wrong > 0 {
		return exit{exitFailed, nil}
	}
	return nil
}
