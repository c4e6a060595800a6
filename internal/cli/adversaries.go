package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/agent"
	"tare/internal/proof"
	"tare/internal/report"
	"tare/internal/suite"
	"tare/internal/workspace"
	"tare/suites"
)

// adversaries loads the built-in ones.
var adversaries = sync.OnceValues(func() ([]*suite.Adversary, error) {
	out, err := suite.Adversaries(suites.Adversaries(), "adversaries")
	if err != nil {
		return nil, fmt.Errorf("loading the built-in adversaries: %w", err)
	}
	return out, nil
})

func isCheater(name string) bool {
	return strings.HasPrefix(name, proof.CheaterAgent)
}

// checkCheater refuses an adversary that is not there.
func checkCheater(name string) error {
	all, err := adversaries()
	if err != nil {
		return err
	}
	bare, _, _ := strings.Cut(strings.TrimPrefix(name, proof.CheaterAgent), "@")
	if !slices.ContainsFunc(all, func(a *suite.Adversary) bool { return a.Name == bare }) {
		return usage("there is no adversary %q; 'tare list adversaries' names all %d", bare, len(all))
	}
	return nil
}

// fitCheater refuses an adversary that does not fit a task.
func fitCheater(name string, t *tare.Task) error {
	all, err := adversaries()
	if err != nil {
		return err
	}
	if _, ok := proof.Cheater(name, t, all); !ok {
		return usage("agent %s does not fit %s: it is for another runner, other tickets, or has no such base", name, t.ID)
	}
	return nil
}

// cheater is the agent that plays an adversary: it lays the tree out that the adversary makes, and then lets the
// adversary's own script play in it.
func (r *rig) cheater(name string, t *tare.Task) (agent.Agent, error) {
	all, err := adversaries()
	if err != nil {
		return nil, err
	}
	p, ok := proof.Cheater(name, t, all)
	if !ok {
		return nil, fmt.Errorf("agent %s does not fit %s", name, t.ID)
	}
	tree := agent.Tree(name, p.Solution)
	if p.Agent == "" {
		return tree, nil
	}
	dir, err := r.sb.NewDir("x-*")
	if err != nil {
		return nil, err
	}
	uid, gid := r.sb.Owner()
	script := tare.Tree{{Path: "attack.sh", Mode: 0o755, Data: []byte(p.Agent)}}
	if err := workspace.Lay(filepath.Join(dir, "x"), script, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return nil, err
	}
	command, err := agent.Command(name, filepath.Join(dir, "x", "attack.sh"))
	if err != nil {
		return nil, err
	}
	return agent.Then(name, tree, command), nil
}

// listAdversaries lists what cheater:NAME can be.
func (a *app) listAdversaries() error {
	all, err := adversaries()
	if err != nil {
		return err
	}
	var lines []report.Line
	for _, x := range all {
		lines = append(lines, report.Line{Cells: []string{proof.CheaterAgent + x.Name, x.Title}})
		if a.json() {
			err = a.writeJSON(map[string]any{"schema": "tare.adversary-summary/1", "agent": proof.CheaterAgent + x.Name, "title": x.Title, "tries": x.Tries, "kind": x.Kind, "stopped": x.Stopped, "detected": x.Detected, "defences": x.Defences, "hash": x.Hash})
		}
		if err != nil {
			return err
		}
	}
	if a.json() {
		return nil
	}
	return report.Table(a.stdout, []report.Column{{}, {Min: 20}}, lines, a.options())
}

// fromMatrix reports whether the control called name is one that the matrix shows: NAME@BASE.
func fromMatrix(name string) bool { return strings.Contains(name, "@") }

// Columns of the matrix of adversaries.
const (
	adversaryColumns = 40 // for the name
	markColumns      = 3  // for each task
)

// marks say where a row was stopped.
var marks = map[string]string{
	tare.GateInfrastructure: "X", tare.GateIntegrity: "I", tare.GateVisibleTests: "V", tare.GateBehaviour: "B", tare.GateRegressionTest: "R", "": "P",
}

const legend = "stopped at I integrity, V visible tests, B behaviour, R regression test, X infrastructure; P passes, as it must; ! not as it must be; · does not fit"

// A matrix is adversaries by tasks, made from tables.
type matrix struct {
	tasks []string
	names []string
	marks map[string]map[string]string // adversary, task
}

func matrixOf(tables []proof.Table) matrix {
	m := matrix{marks: map[string]map[string]string{}}
	for _, t := range tables {
		shown := false
		for _, r := range t.Rows {
			if r.Origin != tare.FromAdversary || !fromMatrix(r.Control) {
				continue
			}
			shown = true
			if m.marks[r.Control] == nil {
				m.marks[r.Control] = map[string]string{}
				m.names = append(m.names, r.Control)
			}
			mark := marks[r.Got.Gate]
			if mark == "" {
				mark = "?"
			}
			if !r.OK {
				mark = "!"
			}
			m.marks[r.Control][t.Task] = mark
		}
		if shown {
			m.tasks = append(m.tasks, t.Task)
		}
	}
	slices.Sort(m.names)
	return m
}

func (m matrix) mark(name, task string) string {
	if mark := m.marks[name][task]; mark != "" {
		return mark
	}
	return "·"
}

// writeAdversaries prints the matrix of adversaries by tasks, in blocks that fit the width.
func writeAdversaries(w io.Writer, tables []proof.Table, width int) {
	m := matrixOf(tables)
	if len(m.tasks) == 0 {
		return
	}
	fmt.Fprintf(w, "\nadversaries: where each is stopped, by task\n")
	for i, t := range m.tasks {
		fmt.Fprintf(w, "  %2d %s\n", i+1, clip(t, width-5))
	}
	fit := (width - 2 - adversaryColumns) / markColumns
	for from := 0; from < len(m.tasks); from += fit {
		block := m.tasks[from:min(from+fit, len(m.tasks))]
		fmt.Fprintf(w, "\n  %-*s", adversaryColumns, "")
		for i := range block {
			fmt.Fprintf(w, "%*d", markColumns, from+i+1)
		}
		fmt.Fprintln(w)
		for _, name := range m.names {
			fmt.Fprintf(w, "  %-*s", adversaryColumns, clip(name, adversaryColumns))
			for _, t := range block {
				fmt.Fprintf(w, "%*s", markColumns, m.mark(name, t))
			}
			fmt.Fprintln(w)
		}
	}
	for _, l := range report.Wrap(legend, width-2) {
		fmt.Fprintf(w, "  %s\n", l)
	}
}

// writeProofMarkdown writes what writeProof prints, from the same tables.
func writeProofMarkdown(w io.Writer, tables []proof.Table) error {
	var b strings.Builder
	b.WriteString("# Proof\n\n## Sweep: reward in four states\n\n| task | unfixed seed | fix, no test | fix, real test | fix, empty test |\n|---|---|---|---|---|\n")
	for _, t := range tables {
		if t.Kind == tare.Vuln {
			continue
		}
		s := proof.SweepOf(t)
		fmt.Fprintf(&b, "| %s%s | %s | %s | %s | %s |\n", cell(t.Task), heldOut(t.HeldOut), stateText(s.Unfixed), stateText(s.Untested), stateText(s.Genuine), stateText(s.Vacuous))
	}
	if m := matrixOf(tables); len(m.tasks) > 0 {
		b.WriteString("\n## Adversaries by tasks\n\n")
		for i, t := range m.tasks {
			fmt.Fprintf(&b, "%d. %s\n", i+1, cell(t))
		}
		b.WriteString("\n| adversary |")
		for i := range m.tasks {
			fmt.Fprintf(&b, " %d |", i+1)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(m.tasks)) + "\n")
		for _, name := range m.names {
			b.WriteString("| " + cell(name) + " |")
			for _, t := range m.tasks {
				b.WriteString(" " + m.mark(name, t) + " |")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n" + legend + "\n")
	}
	b.WriteString("\n## Controls\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "\n### %s%s\n\n%s, %s, isolation %s\n\n| | origin | control | outcome | reward | gate | reason |\n|---|---|---|---|---|---|---|\n", cell(t.Task), heldOut(t.HeldOut), many(len(t.Rows), "row"), many(t.Passes, "pass"), t.Isolation)
		for _, r := range t.Rows {
			mark, reason := "ok", r.Got.Reason
			if !r.OK {
				mark, reason = "**WRONG**", r.Wrong+"; the grader said: "+r.Got.Reason
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", mark, r.Origin, cell(r.Control), r.Got.Outcome, rewardText(r.Got.Reward), gateText(r.Got), cell(reason))
		}
		if len(t.Idle) > 0 {
			fmt.Fprintf(&b, "\n%d hidden cases stop no control by themselves: %s\n", len(t.Idle), cell(strings.Join(t.Idle, ", ")))
		}
		killsMarkdown(&b, t)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell makes untrusted text fit for a cell of a Markdown table: it can end no cell, begin no markup and hold no line end.
func cell(s string) string {
	s = strings.Join(strings.Fields(clip(s, 400)), " ")
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "$", "\\$").Replace(s)
}
