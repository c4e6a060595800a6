// Package clock works with the minutes of a day, 0 to 1439.
package clock

import "fmt"

// Day is how many minutes a day has.
const Day = 24 * 60

// Valid reports whether minute is one of the day.
func Valid(minute int) bool { return minute >= 0 && minute < Day }

// Between reports whether minute lies in the stretch from one minute to another, the first of them included. A stretch whose
// end is not after its beginning runs past midnight.
func Between(minute, from, to int) bool {
	if from < to {
		return from <= minute && minute < to
	}
	return minute >= from || minute < to
}

// Text is minute as people write it.
func Text(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
