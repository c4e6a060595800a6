package envfile

import (
	"testing"
)

func TestSaveAndRead(t *testing.T) {
	if got, err := Parse(Format([]Entry{{"A", "#ff0000"}, {"B", "x"}})); err != nil || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
}
