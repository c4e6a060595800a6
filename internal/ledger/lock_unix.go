//go:build unix

package ledger

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of that name, unless another process or goroutine has it: then ok is false. The kernel gives it back when its
// holder dies. wait waits for it.
func tryLock(name string, wait bool) (unlock func(), ok bool, err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, err
	}
	return func() { f.Close() }, true, nil
}
