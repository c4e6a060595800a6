package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

// limit bounds what the process pid, a git of ours, may take. A process that has already ended needs no bound.
func limit(pid int) error {
	for resource, max := range map[int]uint64{unix.RLIMIT_AS: 4 << 30, unix.RLIMIT_FSIZE: 1 << 30, unix.RLIMIT_CORE: 0} {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: max, Max: max}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}
