package roster

import "oncall/clock"

// covers counts the minutes since the shift began.
func (s Shift) covers(minute int) bool {
	since, length := minute-s.From, s.To-s.From
	if since < 0 {
		since += clock.Day
	}
	if length <= 0 {
		length += clock.Day
	}
	return since < length
}
