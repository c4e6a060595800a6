package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A Disk writes files whole or not at all, beside their place and then moved there, so that a killed writer leaves no half
// file under a name that counts.
type Disk struct {
	// Before, where set, is told of each step before it is taken. A test ends the process there.
	Before func(step, path string)
	// Unsynced does not wait until a file has reached the disk: it outlasts the end of the process, and not a loss of power.
	Unsynced bool
}

// TempPrefix begins the names of files that are being written, and of those that a killed writer left.
const TempPrefix = ".tmp-"

func (d Disk) step(step, path string) {
	if d.Before != nil {
		d.Before(step, path)
	}
}

// WriteNew writes a file that must not be there yet: then the error is fs.ErrExist.
func (d Disk) WriteNew(path string, b []byte) error {
	tmp, err := d.temp(path, b)
	if err != nil {
		return err
	}
	d.step("link", path)
	err = os.Link(tmp, path) // unlike a rename, a hard link refuses to replace
	d.step("unlink", tmp)
	if rm := os.Remove(tmp); err == nil {
		err = rm
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// Replace writes a file in place of one that may be there.
func (d Disk) Replace(path string, b []byte) error {
	tmp, err := d.temp(path, b)
	if err != nil {
		return err
	}
	d.step("rename", path)
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(tmp)))
	}
	return nil
}

// Remove removes a file. One that is gone already is as good as removed.
func (d Disk) Remove(path string) error {
	d.step("remove", path)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}

// move gives a file another name in its directory.
func (d Disk) move(from, to string) error {
	d.step("move", to)
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("moving %s: %w", from, err)
	}
	return nil
}

func (d Disk) temp(path string, b []byte) (string, error) {
	d.step("create", path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), TempPrefix+"*")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	half := len(b)
	if d.Before != nil {
		half = len(b) / 2 // so that a test can end the process in the middle
	}
	_, err = f.Write(b[:half])
	if err == nil && half < len(b) {
		d.step("write", path)
		_, err = f.Write(b[half:])
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil && !d.Unsynced {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return f.Name(), nil
}
