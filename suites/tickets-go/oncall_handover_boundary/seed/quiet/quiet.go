// Package quiet knows when minor alerts wait.
package quiet

import "oncall/clock"

// Hours are the minutes of the day in which they wait.
type Hours struct {
	From, To int
}

// Silent reports whether a minor alert waits at that minute. At both ends of the hours it does.
func (h Hours) Silent(minute int) bool {
	return clock.Valid(minute) && clock.Between(minute, h.From, h.To)
}
