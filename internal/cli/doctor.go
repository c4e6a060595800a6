package cli

import (
	"fmt"

	"github.com/spf13/cobra"

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
			broken := 0
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
				mark := "ok     "
				if !f.OK {
					mark = "MISSING"
				}
				fmt.Fprintf(a.stdout, "%s  %-28s %s\n", mark, f.Name, printable(f.Detail))
				if !f.OK && f.Mend != "" {
					fmt.Fprintf(a.stdout, "         to mend it: %s\n", f.Mend)
				}
			}
			if broken > 0 {
				return exit{exitRig, fmt.Errorf("%d of %d things that tare needs are not there", broken, len(findings))}
			}
			return nil
		},
	}
}
