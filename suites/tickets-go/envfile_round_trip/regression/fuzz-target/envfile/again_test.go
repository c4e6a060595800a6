package envfile

import (
	"slices"
	"testing"
)

func FuzzSaveAndRead(f *testing.F) {
	f.Add("#ff0000")
	f.Fuzz(func(t *testing.T, value string) {
		want := []Entry{{"A", value}}
		if got, err := Parse(Format(want)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
	})
}
