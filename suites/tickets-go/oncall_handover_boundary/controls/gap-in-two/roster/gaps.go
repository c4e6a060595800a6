package roster

import "oncall/clock"

// A Gap is a stretch of the day in which nobody is on call. To is the first minute after it.
type Gap struct {
	From, To int
}

// Gaps lists the stretches in which nobody is on call, in the order of the day.
func (r Roster) Gaps() []Gap {
	var gaps []Gap
	open := -1
	for minute := 0; minute < clock.Day; minute++ {
		switch covered := r.covered(minute); {
		case !covered && open >= 0 && minute == clock.Day/2:
			gaps = append(gaps, Gap{open, minute})
			open = minute
		case !covered && open < 0:
			open = minute
		case covered && open >= 0:
			gaps = append(gaps, Gap{open, minute})
			open = -1
		}
	}
	if open >= 0 {
		gaps = append(gaps, Gap{open, clock.Day})
	}
	return gaps
}

func (r Roster) covered(minute int) bool {
	for _, s := range r.Shifts {
		if s.covers(minute) {
			return true
		}
	}
	return false
}
