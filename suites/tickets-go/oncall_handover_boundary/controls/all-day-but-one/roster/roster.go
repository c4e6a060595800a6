// Package roster says who is on call.
package roster

import (
	"errors"
	"fmt"

	"oncall/clock"
)

// ErrMinute is the error for a minute that is not one of the day.
var ErrMinute = errors.New("not a minute of the day")

// A Shift is a stretch of every day, in minutes since midnight, for which one person is on call.
type Shift struct {
	Person   string
	From, To int
}

// A Roster is all shifts of a day.
type Roster struct {
	Shifts []Shift
}

// OnDuty names who is on call at that minute, in the order of the roster.
func (r Roster) OnDuty(minute int) ([]string, error) {
	if !clock.Valid(minute) {
		return nil, fmt.Errorf("%w: %d", ErrMinute, minute)
	}
	var people []string
	for _, s := range r.Shifts {
		if s.covers(minute) {
			people = append(people, s.Person)
		}
	}
	return people, nil
}

// covers reports whether s covers the minute: its first one it does, the one in which it ends it does not.
func (s Shift) covers(minute int) bool {
	if s.From == s.To {
		return minute != s.To
	}
	if s.From < s.To {
		return s.From <= minute && minute < s.To
	}
	return minute >= s.From || minute < s.To
}
