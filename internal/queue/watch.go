package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tare/internal/store"
)

// Self is this process as other workers see it: where it is, and its number there. Two processes are at the same place when each
// could see the other's number, which takes one machine, one boot of it and one namespace of processes.
func Self() (host string, pid int) {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{name, strings.TrimSpace(string(boot)), space}, " "), os.Getpid()
}

// A watch is what one process saw of the hearts of others: for how many of its own ticks in a row each stood. Ticks are counted, and
// no times compared: a clock that is set, and a machine that sleeps with all that is on it, make nobody look dead.
type watch struct {
	stood map[string]int
	beats map[string]int64
}

// dead are those who stood for longer than patience, and those of this place whose process is gone.
func (w *watch) dead(pulses []store.Pulse, self string, patience int) []store.Pulse {
	host, _ := Self()
	stood, beats := map[string]int{}, map[string]int64{}
	var out []store.Pulse
	for _, p := range pulses {
		if p.ID == self {
			continue
		}
		if before, ok := w.beats[p.ID]; ok && before == p.Beat {
			stood[p.ID] = w.stood[p.ID] + 1
		}
		beats[p.ID] = p.Beat
		gone := p.Host == host && errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH)
		if gone || stood[p.ID] >= patience {
			out = append(out, p)
		}
	}
	w.stood, w.beats = stood, beats
	return out
}

// tick lets the worker's heart beat and looks after what concerns all: workers that are gone, jobs that are missing, runs that were
// cancelled, entries that wait for their numbers.
func (w *worker) tick(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Beat)
	defer ticker.Stop()
	seen := &watch{}
	well := time.Now() // when the database last did all that was asked
	for n := 0; ; n++ {
		err := w.beat(ctx)
		switch {
		case errors.Is(err, store.ErrLease):
			w.fail(ErrTaken)
			w.cancel(func(*store.Lease) bool { return true })
			return
		case err == nil:
			err = errors.Join(w.q.look(ctx, seen, w.self.ID, w.cfg.Patience, w.cfg.Gone), w.learn(ctx), w.review(ctx))
			if n%2 == 0 {
				err = errors.Join(err, w.q.mend(ctx))
			}
			err = errors.Join(err, w.q.db.TryIntegrate()) // the heart must not stand because another one stands with the lock
		}
		if err != nil {
			seen = &watch{} // who cannot look has seen nobody stand
			if time.Since(well) > w.cfg.Commit {
				w.fail(fmt.Errorf("working: %w", err))
			}
		} else {
			well = time.Now()
		}
		select {
		case <-ctx.Done():
			w.cancel(func(*store.Lease) bool { return true })
			return
		case <-ticker.C:
		}
	}
}

// beat lets the heart beat once. A connection over which nothing comes any more must not stop it for good.
func (w *worker) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return w.q.db.Beat(ctx, w.self.ID)
}

// look takes over from workers that are dead.
func (q *Queue) look(ctx context.Context, seen *watch, self string, patience int, gone func(store.Pulse, []store.Lease)) error {
	pulses, err := q.db.Watched(ctx)
	if err != nil {
		return err
	}
	for _, p := range seen.dead(pulses, self, patience) {
		leases, err := q.db.TakeOver(ctx, p, q.Wake)
		if err != nil {
			return err
		}
		if gone != nil {
			gone(p, leases)
		}
	}
	return nil
}

// Watch does what concerns all, for a process that plays nothing, until ctx ends: someone has to see that the last worker is gone.
func (q *Queue) Watch(ctx context.Context, gone func(store.Pulse, []store.Lease)) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	seen := &watch{}
	for {
		if err := q.look(ctx, seen, "", 6, gone); err != nil {
			seen = &watch{}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// cancel gives up what of the worker's episodes which names.
func (w *worker) cancel(which func(*store.Lease) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l, stop := range w.plays {
		if which(l) {
			stop()
		}
	}
}

// review looks after the worker's own leases: what of a cancelled run it plays is given up, and so is a lease that nobody plays. Its
// transaction went through and the answer to it was lost.
func (w *worker) review(ctx context.Context) error {
	held, err := w.q.db.Held(ctx, w.self.ID)
	if err != nil {
		return err
	}
	cancelled := map[string]bool{}
	astray := map[string]bool{}
	for _, h := range held {
		if h.Cancelled {
			cancelled[h.Run] = true
		}
		if w.isPlayed(h.Lease) {
			continue
		}
		// one that was just claimed is played in a moment: it must be astray twice
		id := fmt.Sprint(h.Run, " ", h.Key, " ", h.Number)
		if astray[id] = true; !w.astray[id] {
			continue
		}
		if err := w.q.db.GiveUp(ctx, &h.Lease, w.q.Wake, func(*sql.Tx) error { return nil }); err != nil && !errors.Is(err, store.ErrLease) {
			return err
		}
	}
	w.astray = astray
	if len(cancelled) > 0 {
		w.cancel(func(l *store.Lease) bool { return cancelled[l.Run] })
	}
	return nil
}

func (w *worker) isPlayed(held store.Lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.plays {
		if l.Run == held.Run && l.Key == held.Key && l.Number == held.Number {
			return true
		}
	}
	return false
}

// learn asks the worker of needs that it has not met before, and lets others know what it has.
func (w *worker) learn(ctx context.Context) error {
	if w.cfg.Can == nil {
		return nil
	}
	all, err := w.q.db.Needs(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	has := slices.Clone(w.has)
	w.mu.Unlock()
	for _, needs := range all {
		for _, need := range strings.Fields(needs) {
			if !slices.Contains(has, need) && w.cfg.Can(need) {
				has = append(has, need)
			}
		}
	}
	w.mu.Lock()
	changed := len(has) > len(w.has)
	w.has = has
	w.mu.Unlock()
	if !changed {
		return nil
	}
	if err := w.q.db.SetHas(ctx, w.self.ID, has); err != nil {
		return fmt.Errorf("saying what a worker has: %w", err)
	}
	return nil
}
