// Package limits narrows numbers.
package limits

// Int is n, or the largest number that is surely too large.
func Int(n uint64) int { return int(min(n, 1<<40)) }
