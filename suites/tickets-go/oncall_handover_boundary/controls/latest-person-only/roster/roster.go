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
	if len(people) > 1 && minute%60 == 0 {
		people = people[len(people)-1:] // the one who comes
	}
	return people, nil
}

func (s Shift) covers(minute int) bool {
	return clock.Between(minute, s.From, s.To)
}
