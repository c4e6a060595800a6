package proof_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/check"
	"tare/internal/evidence"
	"tare/internal/oracle"
	"tare/internal/suite"
	"tare/suites"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/adversaries.md")

const (
	docBegin = "<!-- what follows is made from the data; go test ./internal/proof -run Documented -update -->\n"
	docEnd   = "<!-- end of what is made -->\n"
)

// documented is what docs/adversaries.md says of each attack, of each defence and of each placeholder.
func documented(all []*suite.Adversary) string {
	var b strings.Builder
	b.WriteString("\n## Attacks\n\n| attack | what it does | must become | what stops it |\n|---|---|---|---|\n")
	for _, a := range all {
		var rows []string
		for _, r := range a.Rows {
			what := "as the seed"
			if !r.AsSeed {
				what = strings.TrimSpace(string(r.Expect.Outcome) + " at " + r.Expect.Gate)
			}
			rows = append(rows, fmt.Sprintf("%s: %s", r.Base, what))
		}
		kind := ""
		if a.Kind != suite.Any {
			kind = " (" + a.Kind + ")"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s |\n", a.Name, kind, a.Tries, strings.Join(rows, "; "), a.Stopped)
	}
	b.WriteString("\n## Only detected\n\nThese are not prevented. What they forge reads as they want it, and another gate stops the solution.\n\n")
	for _, a := range all {
		if a.Detected != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", a.Name, a.Detected)
		}
	}
	b.WriteString("\n## Defences\n\nEach is switched off in a test, and the row named here then no longer comes out as it must.\n\n| defence | without it | shown by |\n|---|---|---|\n")
	for _, d := range slices.Concat(oracle.Defences(), check.Defences(), evidence.Defences()) {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", d.ID, d.Stops, shownBy[d.ID])
	}
	b.WriteString("\n## Placeholders\n\n| in paths and texts | stands for |\n|---|---|\n")
	var names []string
	for p := range suite.Placeholders {
		names = append(names, p)
	}
	slices.Sort(names)
	for _, p := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p, suite.Placeholders[p])
	}
	return b.String() + "\n"
}

// TestAdversariesAreDocumented keeps docs/adversaries.md in step with the data and the tables.
func TestAdversariesAreDocumented(t *testing.T) {
	all, err := suite.Adversaries(suites.Adversaries(), "adversaries")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "adversaries.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), docBegin)
	is, tail, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks of its generated part", path)
	}
	want := documented(all)
	if *update {
		if err := os.WriteFile(path, []byte(head+docBegin+want+docEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is != want {
		t.Errorf("%s is not what the data gives: go test ./internal/proof -run Documented -update", path)
	}
}
