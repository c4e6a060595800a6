package soak

import (
	"slices"
	"testing"
)

// TestToday: whatever the number of rows, each has its turn within as many days as it takes to go through them once, and no day has a
// row twice.
func TestToday(t *testing.T) {
	for n := 1; n <= 15; n++ {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		for most := 1; most <= n+1; most++ {
			for first := range 40 {
				seen := map[int]bool{}
				for day := first; day < first+(n+most-1)/most; day++ {
					today := Today(rows, most, day)
					if len(today) != min(most, n) || len(slices.Compact(slices.Sorted(slices.Values(today)))) != len(today) {
						t.Fatalf("%d of %d rows on day %d: %v", most, n, day, today)
					}
					for _, r := range today {
						seen[r] = true
					}
				}
				if len(seen) != n {
					t.Fatalf("%d of %d rows a day from day %d on: only %v", most, n, first, seen)
				}
			}
		}
	}
}

func TestDay(t *testing.T) {
	t.Setenv("TARE_TEST_DAY", "20000")
	t.Setenv("TARE_TEST_ALL", "")
	if day, all, err := Day(); day != 20000 || all || err != nil {
		t.Error(day, all, err)
	}
	t.Setenv("TARE_TEST_ALL", "1")
	if _, all, _ := Day(); !all {
		t.Error("all are asked for, and a part is played")
	}
	t.Setenv("TARE_TEST_DAY", "monday")
	if _, _, err := Day(); err == nil {
		t.Error("monday is a number")
	}
}
