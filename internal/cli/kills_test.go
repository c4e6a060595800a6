package cli

import (
	"strings"
	"testing"

	"tare"
	"tare/internal/proof"
	"tare/internal/report"
)

// TestKillTable prints which check catches which mutant, as text within the columns of a terminal and as Markdown.
func TestKillTable(t *testing.T) {
	table := proof.Table{
		Task: "vulns/x", Kind: tare.Vuln, Passes: 2, Rows: []proof.Row{{Control: "seed", OK: true}}, Refused: "the checks are weak",
		Mutants: []proof.MutantRow{
			{Mutant: "a/src/" + strings.Repeat("long-", 20) + "name.c:12:guard-dropped", Built: true, By: []tare.CheckKind{tare.CheckPoC, tare.CheckVariant}},
			{Mutant: "a/x.c:13:boundary-moved", Built: true, By: []tare.CheckKind{tare.CheckVariant}},
			{Mutant: "a/x.c:14:one-off", Built: true, Equivalent: "a byte | more"},
			{Mutant: "b/x.c:14:one-off", Built: true},
			{Mutant: "b/x.c:15:hunk-reverted"},
		},
	}
	var b strings.Builder
	if err := writeProof(&b, []proof.Table{table}, report.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, line := range strings.Split(text, "\n") {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{
		"poc   variant  intent  function  benign", "  a/x.c:13:boundary-moved", "SURVIVES", "does not build", "is a right fix", "a byte | more",
		"1, 0  2, 1     0, 0    0, 0      0, 0", "2 of 3 mutants of the fixes caught, 1 survive, 1 do not build and show nothing, 1 are right fixes",
		"refused: the checks are weak", "0 of them otherwise on another pass",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	b.Reset()
	if err := writeProofMarkdown(&b, []proof.Table{table}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| a/x.c:13:boundary-moved |  | x |  |  |  | caught |", `a byte \| more`, "**Refused**: the checks are weak"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "| vulns/x | -") {
		t.Error("a vulnerability is in the sweep, which is of tickets")
	}
}
