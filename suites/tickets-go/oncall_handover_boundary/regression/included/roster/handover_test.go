package roster

import (
	"slices"
	"testing"
)

func TestHandover(t *testing.T) {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}}}
	people, err := day.OnDuty(840)
	if err != nil || !slices.Contains(people, "Amir") {
		t.Errorf("%q, %v", people, err)
	}
}
