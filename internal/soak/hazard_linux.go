package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Killing sends SIGKILL to one process after the other, drawn by r among those below this one, about every so often until
// ctx ends, and a first one soon: what goes on meanwhile may not take long. It says how many it killed.
func Killing(ctx context.Context, log *Log, r *rand.Rand, every time.Duration) int {
	killed := 0
	for {
		pause := every/2 + time.Duration(r.Int64N(int64(every)))
		if killed == 0 {
			pause /= 10
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return killed
		case <-timer.C:
		}
		if victims := Descendants(); len(victims) > 0 {
			end := log.Begin(Kill)
			if kill(victims[r.IntN(len(victims))]) {
				killed++
			}
			end()
		}
	}
}

// kill kills a process that still is one below this one: a pid may be another's by now, a pidfd may not.
func kill(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	for _, now := range Descendants() {
		if now == pid {
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
		}
	}
	return false
}

// Filling takes all room on the file system of dir, for as long as hold, and lets it go for as long as rest; so until ctx
// ends. What others free meanwhile it takes too. It says how often.
func Filling(ctx context.Context, log *Log, dir string, hold, rest time.Duration) (int, error) {
	name := filepath.Join(dir, "filling")
	defer os.Remove(name)
	for times := 0; ; times++ {
		end := log.Begin(Full)
		err := fill(ctx, name, hold)
		end()
		if err != nil {
			return times, fmt.Errorf("filling a file system: %w", err)
		}
		if !pause(ctx, rest) {
			return times + 1, nil
		}
	}
}

// fill keeps a file as large as there is room for.
func fill(ctx context.Context, name string, hold time.Duration) error {
	f, err := os.Create(name)
	for err != nil && errors.Is(err, unix.ENOSPC) && pause(ctx, time.Millisecond) {
		f, err = os.Create(name)
	}
	if err != nil {
		return err
	}
	defer os.Remove(name)
	defer f.Close()
	var size int64
	for began := time.Now(); time.Since(began) < hold; {
		for _, step := range []int64{16 << 20, 1 << 20, 64 << 10, 4 << 10} {
			for unix.Fallocate(int(f.Fd()), 0, size, step) == nil {
				size += step
			}
		}
		if !pause(ctx, 2*time.Millisecond) {
			return nil
		}
	}
	return nil
}

// pause waits; false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil // both may have come; the end counts
	}
}
