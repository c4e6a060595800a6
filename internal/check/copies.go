package check

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare"
	"tare/internal/sandbox"
)

// Copies lends copies of built trees to programs, each to one at a time. Most programs leave their directory as they found it,
// and to lay it out takes longer than to run them: a copy that is the same to the last inode, by what the kernel says of each
// file and directory, is lent again, and any other is thrown away. Its zero value is ready; it is to be closed.
type Copies struct {
	mu   sync.Mutex
	free []*booth
}

// tick is more than the time for which the kernel may give a change the same time stamp as the change before.
const tick = 20 * time.Millisecond

// take is a copy of t. Trees are the same when they are in memory.
func (c *Copies) take(sb sandbox.Sandbox, t tare.Tree) (*booth, error) {
	if c != nil {
		c.mu.Lock()
		if i := slices.IndexFunc(c.free, func(w *booth) bool { return identical(w.files, t) }); i >= 0 {
			w := c.free[i]
			c.free = slices.Delete(c.free, i, i+1)
			c.mu.Unlock()
			w.lent = time.Now()
			return w, nil
		}
		c.mu.Unlock()
	}
	w, err := newBooth(sb, t)
	if err != nil || c == nil {
		return w, err
	}
	if w.stamps, err = stampsOf(w.tree); err != nil {
		return nil, errors.Join(fmt.Errorf("reading a copy: %w", err), clear(w.dir))
	}
	w.lent = time.Now()
	return w, nil
}

func identical(a, b tare.Tree) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// give takes a copy back.
func (c *Copies) give(w *booth, err *error) {
	if c == nil || *err != nil || !w.untouched() {
		w.close(err)
		return
	}
	for _, m := range w.mounts[1:] { // what lay beside the tree was for one command
		if cerr := clear(m.Host); cerr != nil {
			*err = fmt.Errorf("clearing up: %w", cerr)
			w.close(err)
			return
		}
	}
	w.mounts = w.mounts[:1]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, w)
}

// Close throws the copies away that are not lent.
func (c *Copies) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, w := range c.free {
		w.close(&err)
	}
	c.free = nil
	return err
}

// untouched reports whether nothing in the tree has changed since it was laid out.
func (w *booth) untouched() bool {
	if w.stamps == nil {
		return false
	}
	now, err := stampsOf(w.tree)
	if err != nil || len(now) != len(w.stamps) {
		return false
	}
	for path, is := range now {
		if was, ok := w.stamps[path]; !ok || was != is {
			return false
		}
		// A change right after the copy was laid out may have left the time as it was.
		if is.fresh(w.lent) && !w.asWritten(path, is) {
			return false
		}
	}
	return true
}

// asWritten compares the content of a file with the tree's.
func (w *booth) asWritten(path string, is stamp) bool {
	if !is.mode.IsRegular() {
		return true // the names in a directory are those of the stamps, and a link has another inode when it leads elsewhere
	}
	f, ok := w.files.Lookup(path)
	b, err := os.ReadFile(filepath.Join(w.tree, filepath.FromSlash(path)))
	return ok && err == nil && bytes.Equal(b, f.Data)
}

// A stamp is what the kernel says of a file.
type stamp struct {
	inode, links uint64
	mode         fs.FileMode
	size         int64
	modified     int64
	changed      int64 // which no program can set
	owner, group uint32
}

// fresh reports whether the file was last changed so shortly before a copy was lent that another change need not show.
func (p stamp) fresh(lent time.Time) bool { return p.changed > lent.Add(-tick).UnixNano() }

// stampsOf reads what the kernel says of all files and directories below dir, and of dir.
func stampsOf(dir string) (map[string]stamp, error) {
	out := map[string]stamp{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		p, ok := stampOf(info)
		if !ok {
			return errors.ErrUnsupported
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)] = p
		return nil
	})
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil // no copy is lent twice
	}
	return out, err
}
