package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A bar is the one line on a terminal that says how far long work is. Elsewhere it says nothing.
type bar struct {
	a      *app
	mu     sync.Mutex
	last   int
	silent bool
}

func (a *app) progress() *bar { return &bar{a: a, silent: a.quiet || !a.terminal} }

func (b *bar) say(format string, args ...any) {
	if b.silent {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	line := clip(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "), widthOf(b.a.stderr)-1) // a full line would wrap
	n := len([]rune(line))
	fmt.Fprintf(b.a.stderr, "\r%s%s", line, strings.Repeat(" ", max(0, b.last-n)))
	b.last = n
}

// clear wipes the line, so that what follows begins at the left.
func (b *bar) clear() {
	if b.silent {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last > 0 {
		fmt.Fprintf(b.a.stderr, "\r%s\r", strings.Repeat(" ", b.last))
		b.last = 0
	}
}

// took shows a duration with as many digits as people can use.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}
