package envfile

import (
	"slices"
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	first, err := Parse(Format([]Entry{{"COLOUR", "#ff0000"}}))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse(Format(first)); err != nil || !slices.Equal(again, first) {
		t.Errorf("%q, %v", again, err)
	}
}
