package cli

import (
	"context"
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
interpreters and tools. Exit code 0 when all is well, 4 when something is missing. Go is needed by tickets in Go alone: where it is
not there, that is said, and all else is well.`,
		Example: "  tare doctor\n  tare doctor --format json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := sandbox.Doctor(c.Context(), a.sandboxOptions())
			tools, err := a.runnerTools(c.Context())
			if err != nil {
				return err
			}
			findings = append(findings, tools...)
			broken, needed := 0, 0
			var lines []report.Line
			for _, f := range findings {
				optional := f.Name == toolsOf("gotest")
				if !optional {
					needed++
				}
				if !f.OK && !optional {
					broken++
				}
				if a.json() {
					err := a.writeJSON(map[string]any{"schema": "tare.finding/1", "name": f.Name, "ok": f.OK, "optional": optional, "detail": f.Detail, "mend": f.Mend})
					if err != nil {
						return err
					}
					continue
				}
				lines = append(lines, findingLine(f, optional, widthOf(a.stdout)))
			}
			if err := report.Table(a.stdout, []report.Column{{}, {}, {Min: 10}}, lines, a.options()); err != nil {
				return err
			}
			if broken > 0 {
				return exit{exitRig, fmt.Errorf("%d of %d things that tare needs are not there", broken, needed)}
			}
			return nil
		},
	}
}

// findingLine shows a finding: what is well in one line where it fits, what is missing with what mends it below.
func findingLine(f sandbox.Finding, optional bool, width int) report.Line {
	const before = 7 + 2 + 30 + 2 // the columns of mark and name
	switch l := (report.Line{Cells: []string{"ok", f.Name, f.Detail}}); {
	case !f.OK:
		l.Cells[0], l.Cells[2], l.Below = "MISSING", "", []string{f.Detail}
		if optional {
			l.Cells[0], l.Below = "absent", append(l.Below, "needed by tickets in Go alone")
		}
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

// runnerTools looks for the tools that built-in tasks need.
func (a *app) runnerTools(ctx context.Context) ([]sandbox.Finding, error) {
	tasks, err := a.tasks(nil)
	if err != nil {
		return nil, err
	}
	var out []sandbox.Finding
	seen := map[string]bool{}
	for _, t := range tasks {
		for _, set := range t.Tools() {
			if seen[set] {
				continue
			}
			seen[set] = true
			if set == "gotest" {
				out = append(out, a.tryGo(ctx))
				continue
			}
			f := sandbox.Finding{Name: toolsOf(set), OK: true}
			if f.Detail, err = check.Identity(set); err != nil {
				f = sandbox.Finding{Name: f.Name, Detail: err.Error(), Mend: mendRunner(set)}
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// toolsOf is what a runner's tools are called among the findings.
func toolsOf(runner string) string { return "tools of " + runner }

// mendRunner is the line that brings a runner's tools.
func mendRunner(runner string) string {
	switch runner {
	case "pytest":
		return "apt-get install python3 python3-pytest"
	case "gcc":
		return "apt-get install gcc libc6-dev"
	case "gotest":
		return "install Go 1.24 or later from https://go.dev/doc/install, and have its bin on PATH"
	default:
		return ""
	}
}
