//go:build !unix

package ledger

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// tryLock takes the lock of that name by making a directory. A holder who is killed leaves it, and it has to be removed by hand.
func tryLock(name string, wait bool) (unlock func(), ok bool, err error) {
	for {
		err := os.Mkdir(name+".d", 0o755)
		switch {
		case err == nil:
			return func() { os.Remove(name + ".d") }, true, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, false, err
		case !wait:
			return nil, false, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
