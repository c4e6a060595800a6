package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tare/internal/check"
	"tare/internal/report"
	"tare/internal/sandbox"
)

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Try everything that tare needs of this machine, and say how to mend what is missing",
		Long: `doctor really tries each thing: it starts a sandbox, attempts from inside what must be refused, and looks for the
interpreters and tools. Exit code 0 when all is well, 4 when something is missing.`,
		Example: "  tare doctor\n  tare doctor --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := sandbox.Doctor(c.Context(), a.sandboxOptions())
			tools, err := a.runnerTools()
			if err != nil {
				return err
			}
			findings = append(findings, tools...)
			broken := 0
			var lines []report.Line
			for _, f := range findings {
				if !f.OK {
					broken++
				}
				if a.json() {
					err := a.writeJSON(map[string]any{"schema": "tare.finding/1", "name": f.Name, "ok": f.OK, "detail": f.Detail, "mend": f.Mend})
					if err != nil {
						return err
					}
					continue
				}
				lines = append(lines, findingLine(f, widthOf(a.stdout)))
			}
			if err := report.Table(a.stdout, []report.Column{{}, {}, {Min: 10}}, lines, a.options()); err != nil {
				return err
			}
			if broken > 0 {
				return exit{exitRig, fmt.Errorf("%d of %d things that tare needs are not there", broken, len(findings))}
			}
			return nil
		},
	}
}

// findingLine shows a finding: what is well in one line where it fits, what is missing with what mends it below.
func findingLine(f sandbox.Finding, width int) report.Line {
	const before = 7 + 2 + 30 + 2 // the columns of mark and name
	switch l := (report.Line{Cells: []string{"ok", f.Name, f.Detail}}); {
	case !f.OK:
		l.Cells[0], l.Cells[2], l.Below = "MISSING", "", []string{f.Detail}
		if f.Mend != "" {
			l.Below = append(l.Below, "to mend it: "+f.Mend)
		}
		return l
	case before+len([]rune(f.Detail)) > width:
		l.Cells[2], l.Below = "", []string{f.Detail}
		return l
	default:
		return l
	}
}

// runnerTools looks for the tools of each runner that a built-in task needs.
func (a *app) runnerTools() ([]sandbox.Finding, error) {
	tasks, err := a.tasks(nil)
	if err != nil {
		return nil, err
	}
	var out []sandbox.Finding
	seen := map[string]bool{}
	for _, t := range tasks {
		if seen[t.Runner] {
			continue
		}
		seen[t.Runner] = true
		f := sandbox.Finding{Name: "tools of " + t.Runner, OK: true}
		if f.Detail, err = check.Identity(t.Runner); err != nil {
			f = sandbox.Finding{Name: f.Name, Detail: err.Error(), Mend: mendRunner(t.Runner)}
		}
		out = append(out, f)
	}
	return out, nil
}

// mendRunner is the line that brings a runner's tools.
func mendRunner(runner string) string {
	switch runner {
	case "pytest":
		return "apt-get install python3 python3-pytest"
	case "gotest":
		return "install Go from https://go.dev/doc/install, and have its bin on PATH"
	default:
		return ""
	}
}
