package envfile

import (
	"slices"
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	want := []Entry{{"COLOUR", "#ff0000"}, {"1", "x"}}
	if got, err := Parse(Format(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
