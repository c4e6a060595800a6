package clock

import "testing"

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		minute, from, to int
		want             bool
	}{{840, 360, 840, false}, {839, 360, 840, true}, {360, 1320, 360, false}, {0, 1320, 360, true}} {
		if got := Until(tt.minute, tt.from, tt.to); got != tt.want {
			t.Errorf("Until(%d, %d, %d) = %v", tt.minute, tt.from, tt.to, got)
		}
	}
}
