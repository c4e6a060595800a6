package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare"
	"tare/internal/oracle"
	"tare/internal/proof"
	"tare/internal/report"
)

// killText is what became of a mutant, in a word.
func killText(m proof.MutantRow) string {
	switch {
	case !m.Built:
		return "does not build"
	case m.Equivalent != "":
		return "is a right fix"
	case len(m.By) == 0:
		return "SURVIVES"
	}
	return "caught"
}

// killSum says how the mutants of a task came out.
func killSum(t proof.Table) string {
	n := map[string]int{}
	for _, m := range t.Mutants {
		n[killText(m)]++
	}
	said := fmt.Sprintf("%d of %s of the fixes caught", n["caught"], many(len(t.Mutants)-n["does not build"]-n["is a right fix"], "mutant"))
	for _, more := range []struct{ word, say string }{{"SURVIVES", "survive"}, {"does not build", "do not build and show nothing"}, {"is a right fix", "are right fixes"}} {
		if n[more.word] > 0 {
			said += fmt.Sprintf(", %d %s", n[more.word], more.say)
		}
	}
	return said
}

// catches counts, of each kind of check, the mutants that it catches, and those that nothing else does.
func catches(rows []proof.MutantRow, kind tare.CheckKind) (all, alone int) {
	for _, m := range rows {
		if slices.Contains(m.By, kind) {
			all++
			if len(m.By) == 1 {
				alone++
			}
		}
	}
	return all, alone
}

// writeKills prints which check catches which mutant of one task's fixes.
func writeKills(w io.Writer, t proof.Table, o report.Options) error {
	if len(t.Mutants) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	cols := []report.Column{{Head: "  mutants, and what catches them", Min: 30}}
	for _, k := range oracle.Kinds() {
		cols = append(cols, report.Column{Head: string(k)})
	}
	cols = append(cols, report.Column{})
	var lines []report.Line
	sum := report.Line{Cells: []string{"  caught, and by nothing else"}}
	for _, m := range t.Mutants {
		l := report.Line{Cells: []string{"  " + m.Mutant}}
		for _, k := range oracle.Kinds() {
			mark := ""
			if slices.Contains(m.By, k) {
				mark = "x"
			}
			l.Cells = append(l.Cells, mark)
		}
		word := killText(m)
		if word == "caught" {
			word = ""
		}
		l.Cells = append(l.Cells, word)
		if m.Equivalent != "" {
			l.Below = []string{m.Equivalent}
		}
		lines = append(lines, l)
	}
	for _, k := range oracle.Kinds() {
		all, alone := catches(t.Mutants, k)
		sum.Cells = append(sum.Cells, fmt.Sprintf("%d, %d", all, alone))
	}
	sum.Cells = append(sum.Cells, "")
	if err := report.Table(w, cols, append(lines, sum), o); err != nil {
		return err
	}
	for _, l := range report.Wrap(killSum(t), o.Columns()-2) {
		fmt.Fprintln(w, "  "+l)
	}
	return nil
}

// killsMarkdown is the same as Markdown.
func killsMarkdown(b *strings.Builder, t proof.Table) {
	if len(t.Mutants) == 0 {
		return
	}
	b.WriteString("\n| mutant |")
	for _, k := range oracle.Kinds() {
		fmt.Fprintf(b, " %s |", k)
	}
	b.WriteString(" |\n|---|" + strings.Repeat("---|", len(oracle.Kinds())+1) + "\n")
	for _, m := range t.Mutants {
		fmt.Fprintf(b, "| %s |", cell(m.Mutant))
		for _, k := range oracle.Kinds() {
			mark := ""
			if slices.Contains(m.By, k) {
				mark = "x"
			}
			fmt.Fprintf(b, " %s |", mark)
		}
		word := killText(m)
		if m.Equivalent != "" {
			word += ": " + m.Equivalent
		}
		fmt.Fprintf(b, " %s |\n", cell(word))
	}
	fmt.Fprintf(b, "\n%s\n", killSum(t))
	if t.Refused != "" {
		fmt.Fprintf(b, "\n**Refused**: %s\n", cell(t.Refused))
	}
}

// writeRefused says why a task's checks may not count.
func writeRefused(w io.Writer, t proof.Table, width int) {
	if t.Refused == "" {
		return
	}
	for i, l := range report.Wrap("refused: "+t.Refused, width-9) {
		fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", min(2+7*i, 9)), l)
	}
}

// unsteadyText counts the rows that came out otherwise on a later pass.
func unsteadyText(tables []proof.Table) string {
	n, passes := 0, 0
	for _, t := range tables {
		n += t.Unsteady
		passes = max(passes, t.Passes)
	}
	if passes < 2 {
		return ""
	}
	return fmt.Sprintf(", %d of them otherwise on another pass", n)
}
