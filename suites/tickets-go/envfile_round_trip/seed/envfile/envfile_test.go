package envfile

import (
	"errors"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	const text = `
# where the service listens
HOST = example.org
PORT=8080   # as ever

GREETING="say \"hello\""
MOTTO="one\ntwo"
EMPTY=
`
	want := []Entry{{"HOST", "example.org"}, {"PORT", "8080"}, {"GREETING", `say "hello"`}, {"MOTTO", "one\ntwo"}, {"EMPTY", ""}}
	if got, err := Parse(text); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, line := range map[string]int{
		"A=1\nB\n":       2,
		"1A=1":           1,
		"\n\nA=\"x":      3,
		`A="x" y`:        1,
		`A="C:\temp"`:    1,
		"A=1\n=2\nB=\"x": 2,
	} {
		_, err := Parse(text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != line {
			t.Errorf("%q: %v, want an error in line %d", text, err, line)
		}
	}
}

func TestFormat(t *testing.T) {
	got := Format([]Entry{{"HOST", "example.org:8080"}, {"NAME", "two words"}, {"EMPTY", ""}})
	if want := "HOST=example.org:8080\nNAME=\"two words\"\nEMPTY=\"\"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	entries := []Entry{{"HOST", "example.org"}, {"NAME", "two words"}, {"GREETING", `say "hello"`}}
	if got, err := Parse(Format(entries)); err != nil || !slices.Equal(got, entries) {
		t.Errorf("%q, %v, want %q", got, err, entries)
	}
}
