package check

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
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

// take is a copy of t with more laid over it. Trees are the same when they are in memory.
func (c *Copies) take(sb sandbox.Sandbox, t, more tare.Tree) (*booth, error) {
	more = more.Filter(func(f tare.File) bool { return !holds(t, f) })
	if c == nil || !beside(t, more) {
		return newBooth(sb, t.Overlay(more))
	}
	w, err := c.copyOf(sb, t)
	if err != nil {
		return nil, err
	}
	if err := w.add(more); err != nil {
		return nil, errors.Join(fmt.Errorf("laying out files: %w", err), clear(w.dir))
	}
	w.lent = time.Now()
	return w, nil
}

// holds reports whether t has f as it is.
func holds(t tare.Tree, f tare.File) bool {
	has, ok := t.Lookup(f.Path)
	return ok && has.Mode == f.Mode && bytes.Equal(has.Data, f.Data)
}

// beside reports whether more are files that go between those of t, with none in their way, so that they can be taken out again.
func beside(t, more tare.Tree) bool {
	for _, f := range more {
		if !f.Mode.IsRegular() {
			return false
		}
		for p := f.Path; p != "."; p = path.Dir(p) {
			if _, ok := t.Lookup(p); ok { // an empty directory too: it would be gone afterwards
				return false
			}
		}
		if slices.ContainsFunc(t, func(o tare.File) bool { return tare.Under(o.Path, f.Path) }) {
			return false
		}
	}
	return true
}

// copyOf is a copy of t that was lent before, or a new one.
func (c *Copies) copyOf(sb sandbox.Sandbox, t tare.Tree) (*booth, error) {
	c.mu.Lock()
	if i := slices.IndexFunc(c.free, func(w *booth) bool { return identical(w.files, t) }); i >= 0 {
		w := c.free[i]
		c.free = slices.Delete(c.free, i, i+1)
		c.mu.Unlock()
		return w, nil
	}
	c.mu.Unlock()
	w, err := newBooth(sb, t)
	if err != nil {
		return nil, err
	}
	if w.stamps, err = stampsOf(w.tree); err != nil {
		return nil, errors.Join(fmt.Errorf("reading a copy: %w", err), clear(w.dir))
	}
	return w, nil
}

// add lays files between those of the tree, for one command.
func (w *booth) add(more tare.Tree) error {
	if len(more) == 0 {
		return nil
	}
	uid, gid := w.sb.Owner()
	made, err := workspace.Add(w.tree, more, workspace.Owner{UID: uid, GID: gid})
	if w.more, w.made = more, made; err == nil && w.stamps != nil {
		w.stamps, err = stampsOf(w.tree)
	}
	return err
}

// remove takes out what add laid there, from a copy that nothing else has changed.
func (w *booth) remove() error {
	if len(w.more) == 0 {
		return nil
	}
	root, err := os.OpenRoot(w.tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range slices.Backward(w.made) {
		if err := root.Remove(p); err != nil {
			return err
		}
	}
	w.more, w.made = nil, nil
	w.stamps, err = stampsOf(w.tree)
	return err
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
	if err2 := w.remove(); err2 != nil {
		*err = fmt.Errorf("clearing up: %w", err2)
		w.close(err)
		return
	}
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
	f, ok := w.more.Lookup(path)
	if !ok {
		f, ok = w.files.Lookup(path)
	}
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
