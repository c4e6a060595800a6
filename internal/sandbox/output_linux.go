package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A budget is how many bytes may still be kept; stdout and stderr share one.
type budget struct {
	mu   sync.Mutex
	left int64
}

// take claims up to n bytes.
func (b *budget) take(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = int(min(int64(n), b.left))
	b.left -= int64(n)
	return n
}

// rest is how many bytes nobody has claimed.
func (b *budget) rest() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// An output is one descriptor that the command writes to.
type output struct {
	read, write *os.File // write is the child's, and closed here once the child has it
	budget      *budget
	tee         func(p []byte)
	over        func() // called when the budget is spent and more comes
	bytes       Bytes
	done        chan struct{} // closed when bytes is complete
}

// pipe makes an output that uid can also open anew, as /dev/stdout.
func pipe(uid, gid int) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making pipe: %w", err)
	}
	if uid != os.Geteuid() {
		if err := unix.Fchown(int(w.Fd()), uid, gid); err != nil {
			r.Close()
			w.Close()
			return nil, fmt.Errorf("handing over pipe: %w", err)
		}
	}
	return &output{read: r, write: w, done: make(chan struct{})}, nil
}

// drain reads to the end, keeps what the budget allows and counts the rest.
func (o *output) drain() {
	defer close(o.done)
	buf := make([]byte, 4<<10) // most outputs are short, and each run has three
	for {
		n, err := o.read.Read(buf)
		if n > 0 {
			o.bytes.Total += int64(n)
			kept := o.budget.take(n)
			o.keep(buf[:kept])
			if o.tee != nil && kept > 0 {
				o.tee(buf[:kept])
			}
			if n == len(buf) && n < pipeSize {
				buf = make([]byte, pipeSize)
			}
			if kept < n {
				o.bytes.Truncated = true
				o.over()
			}
		}
		if err != nil {
			// a broken-off end may have lost something, and must not pass for the whole
			o.bytes.Truncated = o.bytes.Truncated || errors.Is(err, os.ErrDeadlineExceeded)
			return
		}
	}
}

// pipeSize is how much a pipe holds.
const pipeSize = 64 << 10

// flood is how much of an output shows that it may well become as long as it is allowed to.
const flood = 1 << 20

// keep adds p to what is kept. Room for a flood is made once: growing by and by would leave several times its size behind.
func (o *output) keep(p []byte) {
	if n := len(o.bytes.Data) + len(p); n > flood && n > cap(o.bytes.Data) {
		o.bytes.Data = slices.Grow(o.bytes.Data, len(p)+int(min(o.budget.rest(), DefaultOutput)))
	}
	o.bytes.Data = append(o.bytes.Data, p...)
}

// finish waits for the end of the pipe. When a process outside the tree still holds it, reading is broken off.
func (o *output) finish() Bytes {
	o.read.SetReadDeadline(time.Now().Add(drainTime))
	<-o.done
	o.read.Close()
	return o.bytes
}

// drop closes an output that never came to be used.
func (o *output) drop() {
	o.read.Close()
	o.write.Close()
}

// memfile holds data for a child to read from a descriptor: it never blocks, unlike a pipe, and nobody can write to it.
func memfile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("sealing %s: %w", name, err)
	}
	return f, nil
}
