package suite

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"tare"
)

// Pack makes the archive of the suite in the folder dir: a zip file with one entry for each file of each task, sorted,
// undated, with its mode; of a symbolic link the content is the target. Equal folders give equal bytes, whatever
// their owners, dates and umask, as long as the compressor of Go's standard library stays the same. It packs only
// what LoadSuite accepts.
func Pack(dir string) ([]byte, error) {
	if _, err := LoadSuite(dir); err != nil {
		return nil, err
	}
	trees, err := readSuite(dir)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, t := range trees {
		for _, f := range t.tree {
			h := &zip.FileHeader{Name: t.name + "/" + f.Path, Method: zip.Deflate}
			h.SetMode(f.Mode)
			entry, err := w.CreateHeader(h)
			if err != nil {
				return nil, fmt.Errorf("packing %s: %w", h.Name, err)
			}
			if _, err := entry.Write(f.Data); err != nil {
				return nil, fmt.Errorf("packing %s: %w", h.Name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", dir, err)
	}
	return buf.Bytes(), nil
}

// SameContent reports whether two archives hold the same files, modes and links, however they are compressed.
func SameContent(a, b []byte) bool {
	x, errX := unpack(a)
	y, errY := unpack(b)
	if errX != nil || errY != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].name != y[i].name || x[i].tree.Digest() != y[i].tree.Digest() {
			return false
		}
	}
	return true
}

// unpack reads an archive that Pack made, in memory and within the bounds of a suite.
func unpack(b []byte) ([]namedTree, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	left := newBudget()
	files := map[string][]tare.File{}
	for _, f := range r.File {
		task, name, ok := strings.Cut(f.Name, "/")
		if !ok || task == "" || name == "" {
			return nil, fmt.Errorf("entry %s lies in no task's folder", clip(f.Name))
		}
		if f.UncompressedSize64 > MaxBytes {
			return nil, errTooLarge
		}
		if err := left.take(int64(f.UncompressedSize64)); err != nil {
			return nil, err
		}
		mode := f.Mode()
		switch mode.Type() {
		case 0:
			mode = fileMode(mode)
		case fs.ModeSymlink:
			mode = linkMode
		default:
			return nil, fmt.Errorf("entry %s is neither a file nor a symbolic link", clip(f.Name))
		}
		data, err := readEntry(f)
		if err != nil {
			return nil, fmt.Errorf("reading entry %s: %w", clip(f.Name), err)
		}
		files[task] = append(files[task], tare.File{Path: name, Mode: mode, Data: data})
	}
	if len(files) == 0 {
		return nil, errors.New("the archive is empty")
	}
	return sortedTrees(files)
}

func readEntry(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readSized(r, int64(f.UncompressedSize64))
}
