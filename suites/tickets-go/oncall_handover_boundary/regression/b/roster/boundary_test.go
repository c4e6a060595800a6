package roster_test

import (
	"testing"

	"oncall/roster"
)

func TestNobodyWhenTheOnlyShiftHasEnded(t *testing.T) {
	for name, shift := range map[string]roster.Shift{
		"by day":        {Person: "Ines", From: 480, To: 960},
		"over midnight": {Person: "Bo", From: 1320, To: 360},
	} {
		t.Run(name, func(t *testing.T) {
			r := roster.Roster{Shifts: []roster.Shift{shift}}
			if last, _ := r.OnDuty(shift.To - 1); len(last) != 1 {
				t.Errorf("in the last minute %q are on duty", last)
			}
			if after, _ := r.OnDuty(shift.To); len(after) != 0 {
				t.Errorf("in the minute in which the shift ends %q are on duty", after)
			}
		})
	}
}

func TestGapFromTheEndOfAShift(t *testing.T) {
	r := roster.Roster{Shifts: []roster.Shift{{Person: "Ines", From: 0, To: 960}, {Person: "Amir", From: 961, To: 0}}}
	gaps := r.Gaps()
	if len(gaps) != 1 || gaps[0] != (roster.Gap{From: 960, To: 961}) {
		t.Errorf("the gaps are %v", gaps)
	}
}
