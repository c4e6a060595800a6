package soak

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Day says which day it is, by TARE_TEST_DAY where a run of another day is to be made again; all is whether TARE_TEST_ALL asks for
// every row, as make soak does. Of rows that are too many for every run of the tests, each day has some, in turn, so that none is left
// out for ever.
func Day() (day int, all bool, err error) {
	day = int(time.Now().Unix() / (24 * 60 * 60))
	if v := os.Getenv("TARE_TEST_DAY"); v != "" {
		if day, err = strconv.Atoi(v); err != nil || day < 0 {
			return 0, false, fmt.Errorf("TARE_TEST_DAY is the number of a day, got %q", v)
		}
	}
	return day, os.Getenv("TARE_TEST_ALL") != "", nil
}

// Today is the part of rows whose turn it is on a day: most of them, and on the next day those after.
func Today[R any](rows []R, most, day int) []R {
	if most >= len(rows) {
		return rows
	}
	out := make([]R, 0, most)
	for i := range most {
		out = append(out, rows[(day*most+i)%len(rows)])
	}
	return out
}
