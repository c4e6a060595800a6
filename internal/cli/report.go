package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/proof"
	"tare/internal/report"
	"tare/internal/run"
	"tare/internal/store"
)

func (a *app) report() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "report RUN",
		Short:   "Write a run as one self-contained HTML page",
		Example: "  tare report 3f2a9c1b7d04\n  tare report 3f2a9c1b7d04 -o monday.html",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := a.findRun(args[0])
			if errors.Is(err, store.ErrNotFound) {
				return usage("there is no run %q in %s; see 'tare list runs'", args[0], a.state)
			}
			if err != nil {
				return err
			}
			results, err := a.shown(id)
			if err != nil {
				return err
			}
			if err := writeFile(out, a.html(id, results)); err != nil {
				return err
			}
			if a.json() {
				return a.writeJSON(map[string]any{"schema": "tare.report/1", "run": id, "file": out, "counts": count(results), "certificates": a.certificateLines(results)})
			}
			fmt.Fprintf(a.stdout, "%s\n", out)
			for _, l := range a.certificateLines(results) {
				a.say("%s", l)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "report.html", "the file to write")
	return c
}

// certificateLines say how far graders and adapters behind a run are proven, and the ceiling of its scores.
func (a *app) certificateLines(results []run.Result) []string {
	return report.Certificates(rows(results))
}

// proofLines say, for the top of a page, what is behind the numbers of each task.
func (a *app) proofLines(results []run.Result) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range results {
		t := r.Job.Task
		if seen[t.ID] {
			continue
		}
		seen[t.ID] = true
		b, err := a.files().FindProof(t.ID)
		var c proof.Certificate
		if err != nil || json.Unmarshal(b, &c) != nil {
			out = append(out, fmt.Sprintf("%s: not proven here; tare prove %s would play its controls", t.ID, t.ID))
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s; %s, each played %s, on %s", t.ID, a.proofOf(t).Status, many(c.Controls, "control"), many(c.Passes, "time"), c.Made.Format("2006-01-02 15:04 MST")))
	}
	return out
}
