package claims

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is how long the thread of the caller, who keeps it, has kept a processor busy. That of the process lags behind by what
// its other threads did since the last tick.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// TestReadIsLinear reads hostile texts of all that is read, and of a thirty-second part of it. In linear time the first takes
// some 32 times as long, in quadratic time a thousand times. What counts is the processor's time, and the least of several
// tries, so that a busy machine does not.
func TestReadIsLinear(t *testing.T) {
	const part = 32
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := func(text string, rounds int) time.Duration {
		best := time.Hour
		for range 4 {
			from := processorTime(t)
			for range rounds {
				Read(text, "shop")
			}
			best = min(best, (processorTime(t)-from)/time.Duration(rounds))
		}
		return best
	}
	for _, unit := range []string{
		"running ", "not ", "deployed, ", "and ", "\"", "“", "`", "~~", "\"a b", "I confirmed that ", "is ", "a", "rolled ", "if ", "-", "to deploy ", "there is no ", "\n- ", "\n```\n", "(", "x.y", "’", "\xff", "the app is running. ", "没", "was taken backup ", "\n",
	} {
		small, large := least(strings.Repeat(unit, maxText/part/len(unit)), 16), least(strings.Repeat(unit, maxText/len(unit)), 1)
		if ratio := float64(large) / float64(small+20*time.Microsecond); ratio > 8*part {
			t.Errorf("%q: %d times the text takes %.0f times as long (%v, %v)", unit, part, ratio, small, large)
		}
	}
}
