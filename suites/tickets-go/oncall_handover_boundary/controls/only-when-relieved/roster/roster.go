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
		if s.covers(minute) && !r.relieved(s, minute) {
			people = append(people, s.Person)
		}
	}
	return people, nil
}

// relieved reports whether s ends in that minute and another shift begins.
func (r Roster) relieved(s Shift, minute int) bool {
	for _, next := range r.Shifts {
		if s.To == minute && next.From == minute && s.From != s.To {
			return true
		}
	}
	return false
}

func (s Shift) covers(minute int) bool {
	return clock.Between(minute, s.From, s.To)
}
