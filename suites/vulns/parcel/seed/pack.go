package parcel

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Pack writes what lies in dir as a parcel: sorted by name, without owners and dates.
func Pack(w io.Writer, dir string) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		return add(t, p, filepath.ToSlash(rel), e)
	})
	if err != nil {
		return fmt.Errorf("packing %s: %w", dir, err)
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("packing %s: %w", dir, err)
	}
	return z.Close()
}

// add adds one file, directory or link.
func add(t *tar.Writer, p, name string, e fs.DirEntry) error {
	info, err := e.Info()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
	switch {
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		if h.Linkname, err = os.Readlink(p); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
	default:
		return fmt.Errorf("%s is neither file, directory nor link", name)
	}
	if err := t.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(t, f)
	return err
}
