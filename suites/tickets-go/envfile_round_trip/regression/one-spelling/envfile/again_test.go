package envfile

import (
	"testing"
)

func TestSaved(t *testing.T) {
	if got := Format([]Entry{{"NAME", "größe"}, {"PATH", `a\b`}}); got != "NAME=\"größe\"\nPATH=\"a\\\\b\"\n" {
		t.Errorf("%s", got)
	}
}
