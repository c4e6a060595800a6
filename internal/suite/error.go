package suite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error is one problem of one task or suite, at the place where an author can mend it.
type Error struct {
	File    string // as the caller named the folder, and the path below it
	Line    int    // from 1; 0 when the problem is no line's: a missing file, say
	Column  int    // from 1, in characters; 0 with Line
	Message string // what is wrong and what would be right
	Excerpt string // the line and its neighbours, with a mark below the column; "" without Line
}

// Error is "file:line:column: message" and the excerpt below it.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(printable(e.File))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": " + e.Message)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

// Bounds of what one load reports: an author mends the first problems first, and a file of a thousand lines, each wrong,
// must not take a thousand times as long as one.
const (
	maxShown    = 20
	maxProblems = 1000
)

// A problem is an Error whose excerpt is not made yet.
type problem struct {
	*Error
	text []byte // of the file
}

// join makes one error of all problems, in the order of the files' text.
func join(problems []problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	problems = slices.CompactFunc(problems, func(a, b problem) bool { return *a.Error == *b.Error })
	errs := make([]error, 0, maxShown+1)
	for i, p := range problems {
		if i == maxShown {
			errs = append(errs, fmt.Errorf("and %d more problems", len(problems)-i))
			break
		}
		p.Excerpt = excerpt(p.text, p.Line, p.Column)
		errs = append(errs, p.Error)
	}
	return errors.Join(errs...)
}

// excerpt shows line of src with the line before it and a mark below column.
func excerpt(src []byte, line, column int) string {
	const width = 160
	lines := strings.Split(string(src), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	show := func(s string) string {
		s = printable(s)
		if utf8.RuneCountInString(s) > width {
			s = string([]rune(s)[:width]) + "…"
		}
		return s
	}
	var b strings.Builder
	if line > 1 {
		fmt.Fprintf(&b, "  %4d | %s\n", line-1, show(lines[line-2]))
	}
	fmt.Fprintf(&b, "> %4d | %s", line, show(lines[line-1]))
	if column >= 1 && column <= width {
		b.WriteString("\n       | " + strings.Repeat(" ", column-1) + "^")
	}
	return b.String()
}

// printable is s with everything replaced that could move a terminal's cursor or change its colours. It keeps the
// number of characters, so that columns still fit.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}
