package cli

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/proof"
	"tare/internal/report"
	"tare/internal/run"
)

// What the demo plays, and what must come out.
const (
	demoProof  = "tickets/bugfix_inventory"
	demoCheat  = "cheater:conftest"
	demoReport = "report.html"
)

var demoTasks = [...]string{"tickets/bugfix_inventory", "tickets/ledger_transfer_rollback", "tickets/shipping_quote_root_cause"}

func (a *app) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "The guided first run: no key, no network, about a minute",
		Long: `demo proves the grader of one ticket, plays four agents on three tickets (one does nothing, one fixes and stops at green
tests, one works through the requirements, one cheats), shows the matrix and one verdict with what is behind it, and
writes report.html. Exit code 0 when all came out as it must.`,
		Example: "  tare demo",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withRig(c.Context(), a.runDemo)
		},
	}
}

func (a *app) runDemo(ctx context.Context, r *rig) error {
	began := time.Now()
	if err := a.canKeep(demoReport); err != nil {
		return fmt.Errorf("%w (demo writes %s into the current directory and keeps its run in %s)", err, demoReport, a.state)
	}
	tasks, err := a.tasks(demoTasks[:])
	if err != nil {
		return err
	}
	a.step("1. Can the grader of %s tell right from wrong?\n   Every control has a known right verdict; each is played twice.", demoProof)
	subject, err := a.tasks([]string{demoProof})
	if err != nil {
		return err
	}
	tables, err := a.proveTasks(ctx, r, subject, proofFlags{jobs: runtime.NumCPU(), passes: 2, controlsOnly: true})
	if err != nil {
		return err
	}
	if err := a.demoTable(tables[0]); err != nil {
		return err
	}
	a.step("2. Four agents on three tickets, over MCP, each in a workspace of its own.")
	plan := demoPlan(r, tasks)
	id, results, interrupted, err := a.playPlan(ctx, r, plan, runtime.NumCPU())
	if err != nil {
		return err
	}
	if interrupted || !allPlayed(results) {
		return exit{exitInterrupted, nil}
	}
	if a.json() {
		if err := a.showRun(id, results, runFlags{}); err != nil {
			return err
		}
	} else if err := a.writeMatrix(results); err != nil {
		return err
	}
	a.step("3. Why? One verdict, explained from its evidence.")
	if baseline := find(results, demoProof, "baseline"); baseline != nil && !a.json() {
		if err := a.writeVerdict(*baseline); err != nil {
			return err
		}
	}
	if err := writeFile(demoReport, a.html(id, results)); err != nil {
		return err
	}
	a.step(`4. What next (this took %s)
   %s
       the same as a page
   tare show %s/bugfix_inventory/%s --explain integrity
       what gave the cheater away
   tare show tickets/bugfix_inventory
       a ticket
   tare run tickets --agent baseline
       all tickets
   tare run tickets --agent cmd:my_agent/run_agent.sh
       your own agent (docs/agents.md)
   tare prove tickets
       every control of every ticket`, took(time.Since(began)), demoReport, id, demoCheat)
	return demoHolds(tables, results)
}

// step prints a heading, for people only.
func (a *app) step(format string, args ...any) {
	if !a.json() && !a.quiet {
		fmt.Fprintf(a.stdout, "\n%s\n\n", wrapLines(fmt.Sprintf(format, args...), widthOf(a.stdout)))
	}
}

func (a *app) demoTable(t proof.Table) error {
	if a.json() {
		return proof.WriteJSON(a.stdout, []proof.Table{t})
	}
	if err := writeSweep(a.stdout, []proof.Table{t}, a.options()); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, g := range [...]struct {
		origins []tare.Origin
		what    string
	}{
		{[]tare.Origin{tare.FromSeed, tare.FromNoop}, "the unfixed seed and an agent that does nothing"},
		{[]tare.Origin{tare.FromReference}, "correct fixes, with and without their regression test"},
		{[]tare.Origin{tare.FromWorthless}, "correct fixes with a test that proves nothing"},
		{[]tare.Origin{tare.FromBad}, "wrong fixes, each to be stopped at the gate that it states"},
		{[]tare.Origin{tare.FromAcceptable}, "right fixes that look unusual"},
	} {
		ok, all := 0, 0
		for _, r := range t.Rows {
			if slices.Contains(g.origins, r.Origin) {
				all++
				if r.OK {
					ok++
				}
			}
		}
		said := fmt.Sprintf("  %2d of %2d came out right  ", ok, all)
		for _, l := range report.Wrap(g.what, widthOf(a.stdout)-len(said)) {
			fmt.Fprintf(a.stdout, "%s%s\n", said, l)
			said = strings.Repeat(" ", len(said))
		}
	}
	var wrong []proof.Row
	for _, r := range t.Rows {
		if !r.OK {
			wrong = append(wrong, r)
		}
	}
	return writeRows(a.stdout, wrong, 0, a.options())
}

func demoPlan(r *rig, tasks []*tare.Task) run.Plan {
	var plan run.Plan
	for _, t := range tasks {
		for _, agent := range []string{"noop", "baseline", "advanced", demoCheat} {
			plan.Jobs = append(plan.Jobs, run.Job{Task: t, Episode: r.episode(t, agent)})
		}
	}
	return plan
}

func find(results []run.Result, task, agent string) *run.Result {
	for i, r := range results {
		if r.Job.Episode.Task == task && r.Job.Episode.Agent == agent {
			return &results[i]
		}
	}
	return nil
}

// demoHolds checks that the demo came out as it must: it shows an instrument, and one that is off must not look well.
func demoHolds(tables []proof.Table, results []run.Result) error {
	for _, t := range tables {
		if !t.OK() {
			return exit{exitFailed, fmt.Errorf("the proof of %s does not hold", t.Task)}
		}
	}
	want := map[string]struct {
		reward float64
		gate   string
	}{
		"noop": {0.5, tare.GateBehaviour}, "baseline": {0.85, tare.GateRegressionTest}, "advanced": {1, ""}, demoCheat: {0, tare.GateIntegrity},
	}
	for _, r := range results {
		w := want[r.Job.Episode.Agent]
		if v := r.Verdict; v.Reward == nil || *v.Reward != w.reward || v.RootGate != w.gate {
			return exit{exitFailed, fmt.Errorf("%s by %s came out as %s, %s at %q; expected %.2f at %q",
				r.Job.Episode.Task, r.Job.Episode.Agent, v.Outcome, rewardText(v.Reward), v.RootGate, w.reward, w.gate)}
		}
	}
	return nil
}
