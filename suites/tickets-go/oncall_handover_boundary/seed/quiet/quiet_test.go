package quiet

import "testing"

func TestSilent(t *testing.T) {
	night := Hours{From: 22 * 60, To: 6 * 60}
	for minute, want := range map[int]bool{22 * 60: true, 0: true, 5 * 60: true, 12 * 60: false} {
		if got := night.Silent(minute); got != want {
			t.Errorf("at minute %d: %v, want %v", minute, got, want)
		}
	}
}
