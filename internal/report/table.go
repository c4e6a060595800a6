package report

import (
	"io"
	"slices"
	"strings"
)

// A Column is one column of a table.
type Column struct {
	Head  string
	Width int  // that a head is wrapped to; 0: as wide as it is
	Min   int  // that it may be narrowed to where the table does not fit, its cells clipped; 0: it is not
	Spare int  // above 0: left out where the table does not fit even so; the highest goes first
	Right bool // aligned to the right, as numbers are
}

// A Line is one line of a table. What stands below it is wrapped and indented; it belongs to no column.
type Line struct {
	Cells []string
	Below []string
}

const (
	gutter     = 2
	belowAt    = 9 // where the text below a line begins
	leastWidth = 4 // of a column, where nothing else makes a table fit
)

// Table writes lines in columns that fit the terminal's width: it wraps heads, then clips cells, then leaves columns out,
// each only where it must and may.
func Table(w io.Writer, cols []Column, lines []Line, o Options) error {
	shown, widths := fit(cols, lines, o.width())
	var b strings.Builder
	put := func(cell func(i int) string) {
		var l strings.Builder
		for k, i := range shown {
			text := clip(cell(i), widths[k])
			if k > 0 {
				l.WriteString(strings.Repeat(" ", gutter))
			}
			if cols[i].Right {
				l.WriteString(pad(text, -widths[k]))
			} else {
				l.WriteString(pad(text, widths[k]))
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	heads := make([][]string, len(cols))
	tall := 0
	for k, i := range shown {
		if cols[i].Head != "" {
			heads[i] = wrap(cols[i].Head, widths[k])
		}
		tall = max(tall, len(heads[i]))
	}
	for n := range tall {
		put(func(i int) string {
			if at := n - (tall - len(heads[i])); at >= 0 { // heads stand on their column
				return heads[i][at]
			}
			return ""
		})
	}
	for _, l := range lines {
		put(func(i int) string { return line(l.Cells[i], nameLimit) })
		for _, text := range l.Below {
			for _, s := range Wrap(text, o.width()-belowAt) {
				b.WriteString(strings.Repeat(" ", belowAt) + s + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fit says which columns are shown, and how wide.
func fit(cols []Column, lines []Line, width int) (shown, widths []int) {
	for i := range cols {
		shown = append(shown, i)
	}
	for {
		widths = nil
		var wrapped, clipped []int // the least width of each
		for _, i := range shown {
			cells := 0
			for _, l := range lines {
				cells = max(cells, columns(line(l.Cells[i], nameLimit)))
			}
			head := columns(cols[i].Head)
			if cols[i].Width > 0 {
				head = min(head, cols[i].Width)
			}
			natural := max(cells, head)
			least := natural
			if cols[i].Min > 0 {
				least = min(natural, cols[i].Min)
			}
			widths = append(widths, natural)
			wrapped = append(wrapped, max(min(cells, natural), least))
			clipped = append(clipped, least)
		}
		room := width - gutter*(len(shown)-1)
		if narrow(widths, wrapped, room) || narrow(widths, clipped, room) {
			return shown, widths
		}
		spare := 0
		for _, i := range shown {
			spare = max(spare, cols[i].Spare)
		}
		if spare == 0 {
			narrow(widths, slices.Repeat([]int{leastWidth}, len(shown)), room)
			return shown, widths
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return cols[i].Spare == spare })
	}
}

// narrow takes from the widest columns first until all fit into room, and from none more than down to its least. It reports
// whether they fit.
func narrow(widths, least []int, room int) bool {
	for {
		sum, widest := 0, -1
		for i, w := range widths {
			sum += w
			if w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= room {
			return true
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
}

// Wrap makes untrusted text fit to be shown: bounded, escaped, in lines of at most n columns.
func Wrap(text string, n int) []string {
	return wrap(line(text, blockLimit), n)
}
