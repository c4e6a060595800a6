package roster

import "testing"

func TestHandover(t *testing.T) {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}}}
	if people, err := day.OnDuty(840); err == nil {
		t.Error(people)
	}
}
