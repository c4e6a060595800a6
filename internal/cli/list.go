package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/report"
	"tare/internal/suite"
)

func (a *app) list() *cobra.Command {
	return &cobra.Command{
		Use:     "list [SUITE|TASK…]",
		Short:   "List suites and tasks, with 'runs' the runs of the store, with 'adversaries' the agents that cheat",
		Example: "  tare list\n  tare list tickets --format json\n  tare list runs\n  tare list adversaries",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "runs" {
				return a.listRuns(c.Context())
			}
			if len(args) == 1 && args[0] == "adversaries" {
				return a.listAdversaries()
			}
			tasks, err := a.summaries(args)
			if err != nil {
				return err
			}
			return a.listTasks(tasks)
		},
	}
}

func (a *app) listTasks(tasks []suite.Summary) error {
	if a.json() {
		for _, t := range tasks {
			err := a.writeJSON(map[string]any{
				"schema": "tare.task-summary/1", "id": t.ID, "kind": t.Kind, "title": t.Title, "category": t.Category, "runner": t.Runner,
				"hash": t.Hash, "requirements": t.Requirements, "cases": t.Cases, "controls": t.Controls, "proof": a.proofOfSummary(t),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	cols := []report.Column{
		{Head: "TASK"}, {Head: "TITLE", Min: 12, Spare: 3}, {Head: "CATEGORY", Spare: 2}, {Head: "CASES", Right: true}, {Head: "CONTROLS", Right: true, Spare: 1}, {Head: "PROOF"},
	}
	var lines []report.Line
	for _, t := range tasks {
		lines = append(lines, report.Line{Cells: []string{
			t.ID, clip(t.Title, 40), string(t.Category), fmt.Sprint(t.Cases), fmt.Sprint(t.Controls), string(a.proofOfSummary(t).Status),
		}})
	}
	return report.Table(a.stdout, cols, lines, a.options())
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(printable(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
