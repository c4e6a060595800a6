package envfile

import (
	"slices"
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	want := []Entry{{"A", "x"}, {"B", "two words"}, {"C", ""}, {"D", `"`}, {"E", "a=b"}}
	if got, err := Parse(Format(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
