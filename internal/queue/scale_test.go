package queue_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/queue"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

var (
	scale     = flag.Int("scale", 20, "episodes of the run that TestScale plays")
	scaleOnly = flag.String("scale-only", "sqlite,postgres,workers", "which databases TestScale plays it on; workers: on PostgreSQL with 2, 4 and 8 processes")
	scaleKeep = flag.String("scale-keep", "", "where TestScale leaves its SQLite store")
)

// TestScale plays a run of episodes that do nothing, through the real queue and store, and prints what each costs. Nothing is held
// against a limit here: make bench prints the table, and docs/scale.md says what it should hold.
func TestScale(t *testing.T) {
	n := *scale
	dir := *scaleKeep
	if dir == "" {
		dir = t.TempDir()
	}
	pg := storetest.Postgres(t)
	processor := func() time.Duration { // of this process, and of workers that have ended
		var self, children syscall.Rusage
		if err := errors.Join(syscall.Getrusage(syscall.RUSAGE_SELF, &self), syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children)); err != nil {
			t.Fatal(err)
		}
		var sum time.Duration
		for _, v := range []syscall.Timeval{self.Utime, self.Stime, children.Utime, children.Stime} {
			sum += time.Duration(v.Nano())
		}
		return sum
	}
	row := func(what string, format string, args ...any) { t.Logf("%-60s %s", what, fmt.Sprintf(format, args...)) }
	measure := func(name, address string, workers int) {
		d, q := open(t, address)
		before := sizeOf(t, d, address)
		began, used, served := time.Now(), processor(), pg.Processor()
		enqueue(t, q, work(t, "scale", "noop", n))
		row(name+": to enqueue", "%.2f ms an episode", ms(began, n))
		began = time.Now()
		if workers == 0 {
			until(t, d, q, "scale", queue.Config{Slots: 2, Play: func(_ context.Context, l *store.Lease) (queue.Played, error) { return playBig(l, 2000) }})
		} else {
			var all []*process
			for range workers {
				all = append(all, start(t, address, bigVar+"=2000"))
			}
			wait(t, 10*time.Minute, over(d, "scale"))
			took := time.Since(began)
			for _, p := range all {
				p.end(t)
			}
			began = time.Now().Add(-took) // their ends are no part of the work
		}
		row(name+": to play and keep", "%.2f ms an episode", ms(began, n))
		if err := d.Ledger().Integrate(); err != nil {
			t.Error(err)
		}
		each := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(n) }
		own, server := each(processor()-used), each(pg.Processor()-served)
		row(name+": processor, enqueuing included", "%.2f ms an episode: %.2f of tare, %.2f of the server", own+server, own, server)
		row(name+": store", "%.1f kB an episode", float64(sizeOf(t, d, address)-before)/1000/float64(n))
		began = time.Now()
		groups, err := d.Groups(context.Background(), "scale")
		if err != nil || len(groups) != 1 || groups[0].Times != n {
			t.Errorf("%+v, %v", groups, err)
		}
		row(name+": to list", "%.0f ms", ms(began, 1))
		began = time.Now()
		var some int
		if err := d.Writer().QueryRow("SELECT count(*) FROM episodes WHERE run = 'scale' AND outcome = 'FAIL'").Scan(&some); err != nil || some != 0 {
			t.Errorf("%d failed, %v", some, err)
		}
		row(name+": to filter", "%.1f ms", ms(began, 1))
		p, err := d.Progress(context.Background(), "scale")
		if err != nil || p.Done != n {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if strings.Contains(*scaleOnly, "sqlite") {
		measure("SQLite", "sqlite:"+filepath.Join(dir, "tare.db"), 0)
	}
	if strings.Contains(*scaleOnly, "postgres") {
		address, err := pg.New()
		if err != nil {
			t.Fatal(err)
		}
		measure("PostgreSQL", address, 0)
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			row("most memory of the process that ran both", "%s", strings.TrimSpace(rest))
		}
	}
	if !strings.Contains(*scaleOnly, "workers") {
		return
	}
	for _, workers := range []int{2, 4, 8} {
		address, err := pg.New()
		if err != nil {
			t.Fatal(err)
		}
		measure(fmt.Sprintf("PostgreSQL, %d workers", workers), address, workers)
	}
}

func ms(began time.Time, n int) float64 {
	return time.Since(began).Seconds() * 1000 / float64(n)
}

func sizeOf(t *testing.T, d *store.DB, address string) (n int64) {
	t.Helper()
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		if _, err := d.Writer().Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := d.Writer().QueryRow("SELECT pg_database_size(current_database())").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
