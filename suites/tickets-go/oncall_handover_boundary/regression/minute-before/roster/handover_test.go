package roster

import "testing"

func TestHandover(t *testing.T) {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}}}
	for minute, want := range map[int]string{839: "Ines", 841: "Amir"} {
		if people, err := day.OnDuty(minute); err != nil || len(people) != 1 || people[0] != want {
			t.Errorf("at minute %d: %q, %v", minute, people, err)
		}
	}
}
