// Package soak is test support for long runs of a rig: it does to the machine what machines do by themselves, seldom and at
// bad moments, and looks afterwards for what the rig left behind.
//
// A [Census] is what this process and everything below it hold. Two of them, before and after, show a leak by name. The
// hazards kill processes and fill a file system; a [Log] says which of them were at work while something was graded, since
// only those excuse that there is no verdict. Nothing here knows what a grade is.
package soak

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Leak is something that was not there before.
type Leak struct {
	Kind string // "process", "mount", "cgroup", "descriptor", "file", "goroutine", "memory"
	What string // enough to find it by
}

func (l Leak) String() string { return fmt.Sprintf("%s left: %s", l.Kind, l.What) }

// A Hazard is a kind of harm.
type Hazard string

// What can be done to a rig from outside.
const (
	Kill  Hazard = "kill"  // SIGKILL to processes that it started
	Full  Hazard = "full"  // no room on the file system of its trees and temporary files
	Clock Hazard = "clock" // the time of day jumps, forward and back
)

// A Log notes when which hazard was at work. Its methods may be called from several goroutines.
type Log struct {
	mu    sync.Mutex
	spans []span
}

type span struct {
	hazard   Hazard
	from, to time.Time // to is zero while it lasts
}

// Begin notes that h is at work until the function that it returns is called.
func (l *Log) Begin(h Hazard) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.spans)
	l.spans = append(l.spans, span{hazard: h, from: time.Now()})
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spans[i].to = time.Now()
	}
}

// Met lists the hazards that were at work at some time between from and to, each once, sorted.
func (l *Log) Met(from, to time.Time) []Hazard {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Hazard
	for _, s := range l.spans {
		if !s.from.After(to) && (s.to.IsZero() || !s.to.Before(from)) {
			out = append(out, s.hazard)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Times counts how often h was at work.
func (l *Log) Times(h Hazard) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, s := range l.spans {
		if s.hazard == h {
			n++
		}
	}
	return n
}
