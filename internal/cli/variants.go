package cli

import (
	"fmt"
	"io"
	"strings"

	"tare"
	"tare/internal/proof"
	"tare/internal/report"
)

// hasVariants reports whether variants were made in a proof.
func hasVariants(t proof.Table) bool {
	return t.Whole && len(t.Unfit) > 0 || variantsOf(t)[proof.BadVariant] > 0
}

func variantsOf(t proof.Table) map[proof.VariantKind]int {
	n := map[proof.VariantKind]int{}
	for _, r := range t.Rows {
		if r.Origin == tare.FromVariant && r.OK {
			n[r.Variant]++
		}
	}
	return n
}

// notGold says why a scenario whose variants were made may not count; "" when it may, or is none.
func notGold(t proof.Table) string {
	if !hasVariants(t) {
		return ""
	}
	return t.Gold()
}

// writeVariantsOf prints how the variants of one scenario came out, and which do not fit it.
func writeVariantsOf(w io.Writer, t proof.Table, width int) {
	if !hasVariants(t) {
		return
	}
	n := variantsOf(t)
	fmt.Fprintf(w, "  %d bad variants failed at their gates, %d acceptable ones passed, %d were left open as they must\n", n[proof.BadVariant], n[proof.AcceptableVariant], n[proof.OpenVariant])
	if len(t.Unfit) > 0 {
		for i, l := range report.Wrap("do not fit: "+strings.Join(t.Unfit, ", "), width-4) {
			fmt.Fprintf(w, "%s%s\n", strings.Repeat(" ", min(2+2*i, 4)), l)
		}
	}
	if why := notGold(t); why != "" {
		fmt.Fprintf(w, "  not gold: %s\n", why)
	}
}

// writeVariants prints, over several scenarios, of how many each variant was made.
func writeVariants(w io.Writer, tables []proof.Table, o report.Options) error {
	var made []proof.Table
	for _, t := range tables {
		if hasVariants(t) && !t.Live {
			made = append(made, t)
		}
	}
	if len(made) < 2 {
		return nil
	}
	counts, err := proof.Applied(made)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	var lines []report.Line
	for _, c := range counts {
		word := ""
		if !c.Enough() {
			word = "too few to show anything"
		}
		lines = append(lines, report.Line{Cells: []string{c.Name, string(c.Kind), fmt.Sprint(c.Times), word}})
	}
	return report.Table(w, []report.Column{{Head: "variants over the scenarios", Min: 20}, {Head: "kind"}, {Head: "made of", Right: true}, {}}, lines, o)
}
