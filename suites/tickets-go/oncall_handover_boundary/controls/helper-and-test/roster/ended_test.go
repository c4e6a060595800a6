package roster

import "testing"

func TestEnded(t *testing.T) {
	s := Shift{"Ines", 360, 840}
	if !s.ended(840) || s.ended(839) || s.covers(840) || !s.covers(839) {
		t.Error("the shift ends at 840")
	}
}
