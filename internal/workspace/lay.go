package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"tare"
)

// Canonical returns t as Read would find it after Lay: sorted, with no entry for a directory that holds something,
// no mode bits but type and permission, and 0777 for symbolic links, whose permissions mean nothing. It refuses what
// NewTree refuses, and also paths that lead through a file or a link, link targets that no system can store, and
// types other than file, directory and link.
func Canonical(t tare.Tree) (tare.Tree, error) {
	t, err := tare.NewTree(t)
	if err != nil {
		return nil, err
	}
	holds := map[string]bool{} // each directory that something lies below
	for _, f := range t {
		for d := path.Dir(f.Path); d != "." && !holds[d]; d = path.Dir(d) {
			holds[d] = true
		}
	}
	out := t[:0]
	for _, f := range t {
		switch f.Mode.Type() {
		case 0:
			f.Mode = f.Mode.Perm()
		case fs.ModeDir:
			if holds[f.Path] {
				continue
			}
			if len(f.Data) > 0 {
				return nil, fmt.Errorf("directory %q has content", f.Path)
			}
			f.Mode = fs.ModeDir | f.Mode.Perm()
		case fs.ModeSymlink:
			if len(f.Data) == 0 || len(f.Data) > maxPath || bytes.IndexByte(f.Data, 0) >= 0 {
				return nil, fmt.Errorf("link %q has a target that cannot be stored", f.Path)
			}
			f.Mode = fs.ModeSymlink | 0o777
		default:
			return nil, fmt.Errorf("%q is neither file nor directory nor link", f.Path)
		}
		if holds[f.Path] {
			return nil, fmt.Errorf("%q is not a directory, but something lies below it", f.Path)
		}
		out = append(out, f)
	}
	return out, nil
}

// Lay writes t into dir, which must be an empty directory or not there. Links are made as data and never followed;
// permission bits are kept whatever the umask; directories are 0755 unless t says otherwise. All of it, dir included,
// is given to o. After an error dir may hold part of t.
func Lay(dir string, t tare.Tree, o Owner) error {
	t, err := Canonical(t)
	if err != nil {
		return fmt.Errorf("laying out a tree: %w", err)
	}
	if err := emptyDir(dir); err != nil {
		return fmt.Errorf("laying out a tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("laying out a tree: %w", err)
	}
	defer root.Close()
	l := layer{root: root, owner: o, made: map[string]bool{".": true}, at: ".", here: root}
	defer l.leave()
	for _, f := range t {
		if err := l.put(f); err != nil {
			return fmt.Errorf("laying out %q: %w", f.Path, err)
		}
	}
	if err := l.give("."); err != nil {
		return fmt.Errorf("laying out a tree: %w", err)
	}
	return nil
}

// Add writes files into dir, where nothing stands at their paths and no link on the way, and says what it made: directories before
// what is in them. After an error that is what was made until then.
func Add(dir string, files tare.Tree, o Owner) (made []string, err error) {
	files, err = Canonical(files)
	if err != nil {
		return nil, fmt.Errorf("adding to a tree: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("adding to a tree: %w", err)
	}
	defer root.Close()
	l := layer{root: root, owner: o, made: map[string]bool{".": true}, at: ".", here: root}
	defer l.leave()
	for _, f := range files {
		var missing []string
		for d := path.Dir(f.Path); !l.made[d]; d = path.Dir(d) {
			switch info, err := root.Lstat(d); {
			case errors.Is(err, fs.ErrNotExist):
				missing = append([]string{d}, missing...)
				continue
			case err != nil:
				return made, fmt.Errorf("adding %q: %w", f.Path, err)
			case !info.IsDir():
				return made, fmt.Errorf("adding %q: %q is no directory", f.Path, d)
			}
			l.made[d] = true
		}
		if err := l.put(f); err != nil {
			return append(made, missing...), fmt.Errorf("adding %q: %w", f.Path, err)
		}
		made = append(append(made, missing...), f.Path)
	}
	return made, nil
}

// emptyDir makes dir, or finds that it is there and empty.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%s is not empty", dir)
		}
		return err
	}
	return nil
}

// A layer writes the files of one tree.
type layer struct {
	root  *os.Root
	owner Owner
	made  map[string]bool

	at   string   // the directory that was last written to, and
	here *os.Root // it opened: a name in it is found at once, a path anew from the root, part by part
}

// in opens the directory dir, which is there.
func (l *layer) in(dir string) (*os.Root, error) {
	if l.at == dir {
		return l.here, nil
	}
	l.leave()
	if dir != "." {
		sub, err := l.root.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		l.at, l.here = dir, sub
	}
	return l.here, nil
}

// leave goes back to the root.
func (l *layer) leave() {
	if l.here != l.root {
		l.here.Close()
	}
	l.at, l.here = ".", l.root
}

func (l *layer) put(f tare.File) error {
	if err := l.parents(path.Dir(f.Path)); err != nil {
		return err
	}
	switch f.Mode.Type() {
	case fs.ModeDir:
		if err := l.mkdir(f.Path, f.Mode.Perm()); err != nil {
			return err
		}
	case fs.ModeSymlink:
		if err := l.root.Symlink(string(f.Data), f.Path); err != nil {
			return err
		}
		return l.give(f.Path)
	default:
		dir, err := l.in(path.Dir(f.Path))
		if err != nil {
			return err
		}
		// O_EXCL: nothing is there, and if something is, it is not ours to write through.
		w, err := dir.OpenFile(path.Base(f.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = w.Write(f.Data)
		if l.owner != asIs {
			err = errors.Join(err, w.Chown(l.owner.UID, l.owner.GID))
		}
		return errors.Join(err, w.Chmod(f.Mode.Perm()), w.Close())
	}
	return nil
}

// parents makes the directory d and those above it.
func (l *layer) parents(d string) error {
	if l.made[d] {
		return nil
	}
	if up, _, found := cutLast(d, "/"); found {
		if err := l.parents(up); err != nil {
			return err
		}
	}
	l.made[d] = true
	return l.mkdir(d, 0o755)
}

func (l *layer) mkdir(d string, perm fs.FileMode) error {
	if err := l.root.Mkdir(d, 0o700); err != nil {
		return err
	}
	if err := l.root.Chmod(d, perm); err != nil { // Mkdir's own is subject to the umask
		return err
	}
	return l.give(d)
}

func (l *layer) give(p string) error {
	if l.owner == asIs {
		return nil
	}
	return l.root.Lchown(p, l.owner.UID, l.owner.GID)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
