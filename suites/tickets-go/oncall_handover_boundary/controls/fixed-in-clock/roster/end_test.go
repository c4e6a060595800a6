package roster

import "testing"

func TestOffDutyAtTheEnd(t *testing.T) {
	r := Roster{Shifts: []Shift{{"Ines", 360, 840}}}
	if people, err := r.OnDuty(840); err != nil || len(people) > 0 {
		t.Errorf("%q, %v", people, err)
	}
}
