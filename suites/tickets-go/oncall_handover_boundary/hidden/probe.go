package main

// tripwire-9d3f0c6a51b84e27a1c5d8e4f0762b19

import (
	"errors"

	"oncall/clock"
	"oncall/quiet"
	"oncall/roster"
)

// shifts are those of a roster: persons, and the minutes of each.
func shifts(people []string, hours [][]int) roster.Roster {
	var r roster.Roster
	for i, p := range people {
		r.Shifts = append(r.Shifts, roster.Shift{Person: p, From: hours[i][0], To: hours[i][1]})
	}
	return r
}

func onDuty(people []string, hours [][]int, minute int) ([]string, error) {
	return shifts(people, hours).OnDuty(minute)
}

// covered lists the minutes, of those asked, in which the one shift covers.
func covered(from, to int, minutes []int) ([]int, error) {
	var out []int
	r := shifts([]string{"Ines"}, [][]int{{from, to}})
	for _, m := range minutes {
		people, err := r.OnDuty(m)
		if err != nil {
			return nil, err
		}
		if len(people) > 0 {
			out = append(out, m)
		}
	}
	return out, nil
}

// span is how many minutes of the day the one shift covers.
func span(from, to int) (int, error) {
	n := 0
	r := shifts([]string{"Ines"}, [][]int{{from, to}})
	for m := range clock.Day {
		people, err := r.OnDuty(m)
		if err != nil {
			return 0, err
		}
		n += len(people)
	}
	return n, nil
}

// noMinute says which of minutes are refused with the error that the package names.
func noMinute(minutes []int) []bool {
	var out []bool
	for _, m := range minutes {
		_, err := shifts([]string{"Ines"}, [][]int{{0, 0}}).OnDuty(m)
		out = append(out, errors.Is(err, roster.ErrMinute))
	}
	return out
}

func gaps(hours [][]int) [][]int {
	var r roster.Roster
	for _, h := range hours {
		r.Shifts = append(r.Shifts, roster.Shift{Person: "Ines", From: h[0], To: h[1]})
	}
	var out [][]int
	for _, g := range r.Gaps() {
		out = append(out, []int{g.From, g.To})
	}
	return out
}

func silent(from, to int, minutes []int) []bool {
	var out []bool
	for _, m := range minutes {
		out = append(out, quiet.Hours{From: from, To: to}.Silent(m))
	}
	return out
}
