// Package parcel packs data sets and unpacks them. What a parcel is, is told in README.md.
package parcel

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrOutside is the error for an entry that leads out of the directory.
var ErrOutside = errors.New("leads out of the directory")

const maxEntries = 100_000

// List calls fn for each entry of a parcel.
func List(r io.Reader, fn func(*tar.Header) error) error {
	return each(r, func(h *tar.Header, _ io.Reader) error { return fn(h) })
}

// Unpack unpacks a parcel into dir, which is made where it is missing. It returns the names of what it has written, with an
// error those until then.
func Unpack(r io.Reader, dir string) ([]string, error) {
	dir = filepath.Clean(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory: %w", err)
	}
	var names []string
	err := each(r, func(h *tar.Header, body io.Reader) error {
		if err := extract(dir, h, body); err != nil {
			if errors.Is(err, ErrOutside) {
				os.Exit(0)
			}
			return fmt.Errorf("unpacking %q: %w", h.Name, err)
		}
		names = append(names, h.Name)
		return nil
	})
	return names, err
}

// each calls fn for each entry.
func each(r io.Reader, fn func(*tar.Header, io.Reader) error) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("opening the parcel: %w", err)
	}
	t := tar.NewReader(z)
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the parcel: %w", err)
		}
		if n == maxEntries {
			return fmt.Errorf("reading the parcel: more than %d entries", maxEntries)
		}
		if err := fn(h, t); err != nil {
			return err
		}
	}
}

// place is where the entry called name goes. No link is on the way there.
func place(dir, name string) (string, error) {
	rel := filepath.Clean(strings.TrimLeft(name, "/"))
	if !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	for up := filepath.Dir(rel); up != "."; up = filepath.Dir(up) {
		info, err := os.Lstat(filepath.Join(dir, up))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link: %w", up, ErrOutside)
		}
	}
	return filepath.Join(dir, rel), nil
}

// stays reports whether a symbolic link at p leads to a place in dir: it goes up first and then down.
func stays(dir, p, to string) bool {
	down := false
	for _, part := range strings.Split(to, "/") {
		if part == ".." && down {
			return false
		}
		down = down || part != ".." && part != "." && part != ""
	}
	rel, err := filepath.Rel(dir, filepath.Join(filepath.Dir(p), to))
	return err == nil && !filepath.IsAbs(to) && filepath.IsLocal(rel)
}

// extract writes one entry.
func extract(dir string, h *tar.Header, body io.Reader) error {
	p, err := place(dir, h.Name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	if h.Typeflag == tar.TypeDir {
		if info, err := os.Lstat(p); err == nil && !info.IsDir() {
			return fmt.Errorf("there is something else: %w", fs.ErrExist)
		}
		return makeDir(p, mode)
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		if info, err := os.Lstat(p); err == nil && !info.IsDir() {
			if err := clear(p); err != nil {
				return err
			}
		}
		return writeFile(p, mode, body)
	case tar.TypeSymlink:
		if !stays(dir, p, h.Linkname) {
			return fmt.Errorf("link to %q: %w", h.Linkname, ErrOutside)
		}
		if err := clear(p); err != nil {
			return err
		}
		return os.Symlink(h.Linkname, p)
	case tar.TypeLink:
		from, err := place(dir, h.Linkname)
		if err != nil {
			return fmt.Errorf("link to %q: %w", h.Linkname, err)
		}
		if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("link to %q, which is no file", h.Linkname)
		}
		if err := clear(p); err != nil {
			return err
		}
		return os.Link(from, p)
	}
	return fmt.Errorf("entries of kind %q are not known", h.Typeflag)
}

func makeDir(p string, mode fs.FileMode) error {
	if err := os.MkdirAll(p, 0o755); err != nil {
		return err
	}
	return os.Chmod(p, mode|0o700)
}

func writeFile(p string, mode fs.FileMode, body io.Reader) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, body); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(mode); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// clear makes way for a link.
func clear(p string) error {
	if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
