package roster

import (
	"errors"
	"slices"
	"testing"
)

var week = Roster{Shifts: []Shift{
	{"Ines", 6 * 60, 14 * 60},
	{"Amir", 14 * 60, 22 * 60},
	{"Bo", 22 * 60, 6 * 60},
	{"Zoe", 8 * 60, 18 * 60},
}}

func TestOnDuty(t *testing.T) {
	for _, tt := range []struct {
		name   string
		minute int
		want   []string
	}{
		{"early", 7 * 60, []string{"Ines"}},
		{"two at once", 10 * 60, []string{"Ines", "Zoe"}},
		{"late", 19 * 60, []string{"Amir"}},
		{"before midnight", 23 * 60, []string{"Bo"}},
		{"after midnight", 3 * 60, []string{"Bo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := week.OnDuty(tt.minute)
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("at minute %d: %q, %v, want %q", tt.minute, got, err, tt.want)
			}
		})
	}
}

func TestNotAMinute(t *testing.T) {
	for _, minute := range []int{-1, 24 * 60} {
		if got, err := week.OnDuty(minute); !errors.Is(err, ErrMinute) {
			t.Errorf("at minute %d: %q, %v", minute, got, err)
		}
	}
}

func TestGaps(t *testing.T) {
	full := Roster{Shifts: []Shift{{"Ines", 0, 840}, {"Amir", 600, 1320}, {"Bo", 1200, 120}}}
	if got := full.Gaps(); len(got) != 0 {
		t.Errorf("a day without gaps has %v", got)
	}
	if got := (Roster{}).Gaps(); !slices.Equal(got, []Gap{{0, 24 * 60}}) {
		t.Errorf("a day without shifts has the gaps %v", got)
	}
}
