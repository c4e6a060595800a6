package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tare"
)

func (a *app) list() *cobra.Command {
	return &cobra.Command{
		Use:     "list [SUITE|TASK…]",
		Short:   "List suites and tasks, with 'runs' the runs of the store, with 'adversaries' the agents that cheat",
		Example: "  tare list\n  tare list tickets --format json\n  tare list runs\n  tare list adversaries",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "runs" {
				return a.listRuns()
			}
			if len(args) == 1 && args[0] == "adversaries" {
				return a.listAdversaries()
			}
			tasks, err := a.tasks(args)
			if err != nil {
				return err
			}
			return a.listTasks(tasks)
		},
	}
}

func (a *app) listTasks(tasks []*tare.Task) error {
	if a.json() {
		for _, t := range tasks {
			err := a.writeJSON(map[string]any{
				"schema": "tare.task-summary/1", "id": t.ID, "kind": t.Kind, "title": t.Title, "category": t.Category, "runner": t.Runner,
				"hash": t.Hash, "requirements": len(t.Requirements), "cases": len(t.Cases), "controls": len(t.Controls), "proof": a.proofOf(t),
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tTITLE\tCATEGORY\tCASES\tCONTROLS\tPROOF")
	for _, t := range tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", t.ID, clip(t.Title, 40), t.Category, len(t.Cases), len(t.Controls), a.proofOf(t).Status)
	}
	return w.Flush()
}

func (a *app) listRuns() error {
	runs, err := a.files().Runs()
	if err != nil {
		return err
	}
	if !a.json() && len(runs) == 0 {
		a.note("there are no runs in %s yet; try: tare run tickets --agent baseline,advanced", a.state)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if !a.json() {
		fmt.Fprintln(w, "RUN\tSTARTED\tPLANNED\tGRADED\tPASS\tFAIL\tUNVERIFIED")
	}
	for _, id := range runs {
		results, err := a.results(id)
		if err != nil {
			return err
		}
		n := count(results)
		started := startedAt(results)
		if a.json() {
			err = a.writeJSON(map[string]any{"schema": "tare.run-summary/1", "run": id, "started": started, "counts": n})
		} else {
			at := "-"
			if !started.IsZero() {
				at = started.Local().Format(time.DateTime)
			}
			_, err = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", id, at, n.Planned, n.Graded, n.Passed, n.Failed, n.Unverified)
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(printable(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}
