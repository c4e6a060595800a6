package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A bar is the one line on a terminal that says how far long work is, and for how long it has been going on. Elsewhere it
// says nothing.
type bar struct {
	a      *app
	silent bool
	began  time.Time

	mu   sync.Mutex
	text string
	last int           // columns of what stands there
	stop chan struct{} // ends what redraws the line; nil while nothing stands there
	done sync.WaitGroup
}

func (a *app) progress() *bar {
	return &bar{a: a, silent: a.quiet || !a.terminal, began: time.Now()}
}

// say puts up a text, until the next one or clear.
func (b *bar) say(format string, args ...any) {
	if b.silent {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	b.draw()
	if b.stop == nil {
		b.stop = make(chan struct{})
		stop := b.stop
		b.done.Go(func() { b.tick(stop) })
	}
}

// tick redraws the line each second: where work takes minutes, a clock that stands still looks like a hang.
func (b *bar) tick(stop <-chan struct{}) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			b.mu.Lock()
			if b.stop != nil {
				b.draw()
			}
			b.mu.Unlock()
		}
	}
}

func (b *bar) draw() {
	line := clip(took(time.Since(b.began).Truncate(time.Second))+"  "+b.text, widthOf(b.a.stderr)-1) // a full line would wrap
	n := len([]rune(line))
	fmt.Fprintf(b.a.stderr, "\r%s%s", line, strings.Repeat(" ", max(0, b.last-n)))
	b.last = n
}

// clear wipes the line, so that what follows begins at the left.
func (b *bar) clear() {
	b.mu.Lock()
	if b.stop != nil {
		fmt.Fprintf(b.a.stderr, "\r%s\r", strings.Repeat(" ", b.last))
		close(b.stop)
		b.stop, b.last = nil, 0
	}
	b.mu.Unlock()
	b.done.Wait()
}

// took shows a duration with as many digits as people can use.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute && d%time.Second == 0:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
}
