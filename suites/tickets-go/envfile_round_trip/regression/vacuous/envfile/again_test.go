package envfile

import (
	"slices"
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	want := []Entry{{"COLOUR", "#ff0000"}}
	got, err := Parse(Format(want))
	if err != nil && slices.Equal(got, want) {
		t.Error(got, err)
	}
}
