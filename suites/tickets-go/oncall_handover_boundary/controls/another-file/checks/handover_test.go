// Package checks holds tests that go across packages.
package checks

import (
	"fmt"
	"testing"

	"oncall/roster"
)

func TestOneAfterTheOther(t *testing.T) {
	r := roster.Roster{Shifts: []roster.Shift{{Person: "Ines", From: 480, To: 960}, {Person: "Amir", From: 960, To: 480}}}
	for _, tt := range []struct {
		minute int
		want   string
	}{{959, "[Ines]"}, {960, "[Amir]"}, {480, "[Ines]"}} {
		people, err := r.OnDuty(tt.minute)
		if got := fmt.Sprint(people); err != nil || got != tt.want {
			t.Errorf("at minute %d: %s, %v, want %s", tt.minute, got, err, tt.want)
		}
	}
}
