package roster

import (
	"slices"
	"testing"
)

func TestHandover(t *testing.T) {
	day := Roster{Shifts: []Shift{{"Ines", 360, 840}, {"Amir", 840, 1320}, {"Bo", 1320, 360}}}
	for minute, want := range map[int]string{360: "Ines", 840: "Amir", 1320: "Bo"} {
		got, err := day.OnDuty(minute)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("at minute %d: %q, want %s alone", minute, got, want)
		}
	}
}
