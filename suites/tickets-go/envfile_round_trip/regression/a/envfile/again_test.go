package envfile

import (
	"slices"
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	for _, value := range []string{"#ff0000", `C:\Program Files\`, "two\nlines", `a "b" \ # c`} {
		t.Run(value, func(t *testing.T) {
			want := []Entry{{"A", value}, {"B", "x"}}
			text := Format(want)
			if got, err := Parse(text); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q becomes %q, which is read as %q, %v", value, text, got, err)
			}
		})
	}
}
