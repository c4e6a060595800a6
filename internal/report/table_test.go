package report

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func table(t interface{ Fatal(...any) }, width int, cols []Column, lines []Line) []string {
	var b strings.Builder
	if err := Table(&b, cols, lines, Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestTable(t *testing.T) {
	cols := []Column{
		{Head: "TASK", Min: 12}, {Head: "TITLE", Min: 26, Spare: 2}, {Head: "unfixed seed", Width: 12, Min: 7, Right: true}, {Head: "KIND", Spare: 1},
	}
	lines := []Line{
		{Cells: []string{"tickets/bugfix_inventory_and_more", "Search lists a product several times", "0.50", "development"}},
		{Cells: []string{"b", "a title\x1b[31m", "1.00", "fixture"}, Below: []string{"because of " + strings.Repeat("many words ", 8)}},
	}
	for width, want := range map[int]string{
		120: `
TASK                               TITLE                                 unfixed seed  KIND
tickets/bugfix_inventory_and_more  Search lists a product several times          0.50  development
b                                  a title\x1b[31m                               1.00  fixture
         because of many words many words many words many words many words many words many words many words
`,
		80: `
                                                            unfixed
TASK                          TITLE                            seed  KIND
tickets/bugfix_inventory_an…  Search lists a product seve…     0.50  development
b                             a title\x1b[31m                  1.00  fixture
         because of many words many words many words many words many words many
         words many words many words
`,
		60: `
TASK                               unfixed seed  KIND
tickets/bugfix_inventory_and_more          0.50  development
b                                          1.00  fixture
         because of many words many words many words many
         words many words many words many words many words
`,
	} {
		if got := "\n" + strings.Join(table(t, width, cols, lines), "\n") + "\n"; got != want {
			t.Errorf("at %d:\n%s\nwant\n%s", width, got, want)
		}
	}
}

// TestTableFits holds for any content: no line is wider than the terminal, and every line that must be there is.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(60, 140).Draw(t, "width")
		n := rapid.IntRange(1, 8).Draw(t, "columns")
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab 日\x1b\n…")), 0, 50, -1)
		var cols []Column
		kept := 0
		for i := range n {
			c := Column{Head: word.Draw(t, "head"), Right: rapid.Bool().Draw(t, "right"), Min: rapid.SampledFrom([]int{0, 5, 20}).Draw(t, "min"), Spare: rapid.IntRange(0, 2).Draw(t, "spare")}
			if i == 0 {
				c.Head, c.Min, c.Spare = "name", 10, 0
			}
			if c.Spare == 0 {
				kept++
			}
			c.Head = strings.Join(strings.Fields(line(c.Head, 60)), " ")
			cols = append(cols, c)
		}
		var lines []Line
		for i := range rapid.IntRange(0, 4).Draw(t, "lines") {
			l := Line{Cells: []string{fmt.Sprint("row", i)}, Below: []string{word.Draw(t, "below")}}
			for range n - 1 {
				l.Cells = append(l.Cells, word.Draw(t, "cell"))
			}
			lines = append(lines, l)
		}
		got := table(t, width, cols, lines)
		for _, l := range got {
			if columns(l) > width {
				t.Errorf("%d columns of %d: %q", columns(l), width, l)
			}
			if strings.ContainsAny(l, "\x1b") {
				t.Errorf("a control character in %q", l)
			}
		}
		for i := range lines {
			if row := fmt.Sprint("row", i); !strings.Contains(strings.Join(got, "\n"), row) {
				t.Errorf("%s is missing from %q", row, got)
			}
		}
	})
}
