package tare

import (
	"strings"
	"unicode"
)

// SeedNames reports whether the last part of a dotted symbol stands, as a word, in a source file of the seed. A test that
// lacks such a symbol on a reference does not need what only one fix has: it leans on how the seed happens to be written.
func (t *Task) SeedNames(symbol string) bool {
	name := symbol[strings.LastIndexByte(symbol, '.')+1:]
	if name == "" {
		return false
	}
	for _, f := range t.Seed {
		if Under(f.Path, t.Sources...) && f.Mode.IsRegular() && hasWord(string(f.Data), name) {
			return true
		}
	}
	return false
}

// hasWord reports whether word stands in text with no letter, digit or underscore on either side.
func hasWord(text, word string) bool {
	part := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(word)
		before, after := strings.TrimRightFunc(text[:start], part), strings.TrimLeftFunc(text[end:], part)
		if len(before) == start && len(after) == len(text)-end {
			return true
		}
		from = end
	}
}
