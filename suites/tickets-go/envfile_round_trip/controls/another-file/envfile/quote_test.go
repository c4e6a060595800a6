package envfile

import "testing"

func TestQuotedAndBack(t *testing.T) {
	for _, value := range []string{"", "x", "#", `\`, "a b", "\n", "\t", `"`} {
		entries, err := Parse("K=" + quoted(value))
		if err != nil || len(entries) != 1 || entries[0].Value != value {
			t.Errorf("%q: %q, %v", value, entries, err)
		}
	}
}
