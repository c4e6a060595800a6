package cli

import (
	"strings"
	"testing"

	"tare"
	"tare/internal/run"
)

func TestMatching(t *testing.T) {
	var results []run.Result
	for _, task := range []string{"tickets/bugfix_inventory", "tickets/bugfix_restock", "tickets/ledger", "other/led"} {
		for _, agent := range []string{"noop", "advanced", "cmd:a/run.sh@0123", "cmd:a/run.sh@4567"} {
			for trial := 1; trial <= 2; trial++ {
				results = append(results, run.Result{Job: run.Job{Episode: tare.Episode{Task: task, Agent: agent, Trial: trial}}})
			}
		}
	}
	for name, want := range map[string]string{
		"bugfix_inventory":               "8 tickets/bugfix_inventory",
		"bugfix_inventory/":              "8 tickets/bugfix_inventory",
		"bugfix_i":                       "8 tickets/bugfix_inventory",
		"bugfix_inventory/noop":          "2 tickets/bugfix_inventory",
		"bugfix_i/n/2":                   "1 tickets/bugfix_inventory",
		"led":                            "8 other/led", // a whole name comes before the beginning of another
		"ledg":                           "8 tickets/ledger",
		"tickets/ledger/adv":             "2 tickets/ledger",
		"tickets/ledger/noop/1":          "1 tickets/ledger",
		"ledger/cmd:a/run.sh":            "4 tickets/ledger",
		"tickets/ledger/cmd:a/run.sh@01": "2 tickets/ledger",
		"bug":                            "could be 2 things of run R:\n  R/bugfix_inventory\n  R/bugfix_restock",
		"bug/noop/1":                     "could be 2 things of run R:\n  R/bugfix_inventory/noop/1\n  R/bugfix_restock/noop/1",
		"tickets/ledger/cmd:a/run.sh@/1": "could be 2 things of run R:\n  R/tickets/ledger/cmd:a/run.sh@0123/1\n  R/tickets/ledger/cmd:a/run.sh@4567/1",
		"nothing":                        `run R has no episode "nothing"; it has` + "\n  R/bugfix_inventory/noop/1",
		"bugfix_inventory/noop/3":        `run R has no episode "bugfix_inventory/noop/3"`,
		"bugfix_inventory/noop/1/and/more/and/mo": "has no episode",
	} {
		got, err := matching(results, "R", name)
		if err != nil {
			if exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			if n := strings.Count(err.Error(), "\n"); n > 21 {
				t.Errorf("%s: %d lines", name, n)
			}
			continue
		}
		tasks := map[string]bool{}
		for _, r := range got {
			tasks[r.Job.Episode.Task] = true
		}
		for task := range tasks {
			if found := string(rune('0'+len(got))) + " " + task; found != want || len(tasks) != 1 {
				t.Errorf("%s: found %s (%d tasks), want %s", name, found, len(tasks), want)
			}
		}
	}
}
