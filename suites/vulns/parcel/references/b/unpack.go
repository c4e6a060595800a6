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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory: %w", err)
	}
	defer root.Close()
	var names, links []string
	err = each(r, func(h *tar.Header, body io.Reader) error {
		name := clean(h.Name)
		if err := extract(root, name, h, body); err != nil {
			return fmt.Errorf("unpacking %q: %w", h.Name, err)
		}
		if h.Typeflag == tar.TypeSymlink {
			links = append(links, name)
		}
		names = append(names, h.Name)
		return nil
	})
	// Where links lead is known when all are there.
	for _, name := range links {
		if _, at := root.Stat(name); at != nil && !errors.Is(at, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("link %q: %w", name, ErrOutside), root.Remove(name))
		}
	}
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

// clean is the name of an entry without what does not matter.
func clean(name string) string { return filepath.Clean(strings.TrimLeft(name, "/")) }

// extract writes one entry. That it stays in the directory is up to root, but for where links lead.
func extract(root *os.Root, name string, h *tar.Header, body io.Reader) error {
	if !filepath.IsLocal(name) {
		return ErrOutside
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	if h.Typeflag == tar.TypeDir {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
		return root.Chmod(name, mode|0o700)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return writeFile(root, name, mode, body)
	case tar.TypeSymlink:
		if filepath.IsAbs(h.Linkname) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), h.Linkname)) {
			return fmt.Errorf("link to %q: %w", h.Linkname, ErrOutside)
		}
		if err := clear(root, name); err != nil {
			return err
		}
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		from := clean(h.Linkname)
		if info, err := root.Lstat(from); err != nil {
			return err
		} else if !info.Mode().IsRegular() {
			return fmt.Errorf("link to %q, which is no file", h.Linkname)
		}
		if err := clear(root, name); err != nil {
			return err
		}
		return root.Link(from, name)
	}
	return fmt.Errorf("entries of kind %q are not known", h.Typeflag)
}

func writeFile(root *os.Root, name string, mode fs.FileMode, body io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
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
func clear(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
