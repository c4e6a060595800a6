package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds in bytes of untrusted text, before escapes.
const (
	nameLimit   = 200
	reasonLimit = 2000
	blockLimit  = 4000 // arguments, previews, final messages
)

// line makes s fit to be shown on one line: bounded to limit bytes, valid, and with everything that could move the cursor,
// reorder the text or hide in it written as an escape.
func line(s string, limit int) string { return visible(s, limit, false) }

// block is line for text of several lines: newlines and tabs stay.
func block(s string, limit int) string { return visible(s, limit, true) }

func visible(s string, limit int, lines bool) string {
	more := 0
	if len(s) > limit {
		cut := limit
		for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		more = len(s) - cut
		s = s[:cut]
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case lines && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			// a line of CRLF: the newline follows
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	if more > 0 {
		fmt.Fprintf(&b, "… [%s more]", size(more))
	}
	return b.String()
}

// size shows a number of bytes.
func size(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	default:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
}

// wide are the runes that take two columns of a terminal.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23f3, 1}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1}, {0x267f, 0x267f, 1}, {0x2693, 0x2693, 1}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x26ce, 0x26ce, 1}, {0x26d4, 0x26d4, 1}, {0x26ea, 0x26ea, 1},
		{0x26f2, 0x26f5, 1}, {0x26fa, 0x26fa, 1}, {0x26fd, 0x26fd, 1}, {0x2705, 0x2705, 1}, {0x270a, 0x270b, 1},
		{0x2728, 0x2728, 1}, {0x274c, 0x274c, 1}, {0x274e, 0x274e, 1}, {0x2753, 0x2755, 1}, {0x2757, 0x2757, 1},
		{0x2795, 0x2797, 1}, {0x27b0, 0x27b0, 1}, {0x27bf, 0x27bf, 1}, {0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b50, 1},
		{0x2b55, 0x2b55, 1}, {0x2e80, 0xa4cf, 1}, {0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
		{0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x16fe0, 0x18cff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1}, {0x1f18e, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	default:
		return 1
	}
}

// columns is the width of s on a terminal. s holds no control characters.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// clip shortens s to at most n columns.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	head, _ := split(s, n-1)
	return head + "…"
}

// split cuts s before the first rune that does not fit into n columns; a single rune always fits.
func split(s string, n int) (head, tail string) {
	used := 0
	for i, r := range s {
		used += runeColumns(r)
		if used > n && i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// pad fills s with spaces to n columns, on the right, or on the left when n is negative.
func pad(s string, n int) string {
	if n < 0 {
		return strings.Repeat(" ", max(0, -n-columns(s))) + s
	}
	return s + strings.Repeat(" ", max(0, n-columns(s)))
}

// wrap breaks s into lines of at most n columns, at spaces where there are any.
func wrap(s string, n int) []string {
	var out []string
	cur := ""
	for _, word := range strings.Fields(s) {
		if cur != "" && columns(cur)+1+columns(word) <= n {
			cur += " " + word
			continue
		}
		if cur != "" {
			out = append(out, cur)
		}
		for columns(word) > n {
			var head string
			head, word = split(word, n)
			out = append(out, head)
		}
		cur = word
	}
	if cur != "" || len(out) == 0 {
		out = append(out, cur)
	}
	return out
}
