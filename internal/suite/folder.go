package suite

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"tare"
)

// PackFolder makes an archive of the folder dir whatever it holds: a zip file with one entry for each file, sorted, undated, with
// its mode; of a symbolic link the content is the target.
func PackFolder(dir string) ([]byte, error) {
	tree, err := readTree(dir, newBudget())
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", dir, err)
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	if err := addFiles(w, tree); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", dir, err)
	}
	return buf.Bytes(), nil
}

// UnpackFolder reads an archive that PackFolder made.
func UnpackFolder(b []byte) (tare.Tree, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("reading an archive: %w", err)
	}
	left := newBudget()
	var files []tare.File
	for _, f := range r.File {
		file, err := unpackFile(f, left)
		if err != nil {
			return nil, fmt.Errorf("reading an archive: %w", err)
		}
		file.Path = f.Name
		files = append(files, file)
	}
	return tare.NewTree(files)
}

// CanariesIn is the source of the manifest called file in a folder that is held in memory. Fixtures are folders of it.
func CanariesIn(folder tare.Tree, name, file string, apply func(tare.Tree, []byte) (tare.Tree, error)) (CanarySource, error) {
	open := func(path string) ([]byte, error) {
		f, ok := folder.Lookup(path)
		if !ok || !f.Mode.IsRegular() {
			return nil, fs.ErrNotExist
		}
		return f.Data, nil
	}
	text, err := open(file)
	if err != nil {
		return CanarySource{}, fmt.Errorf("reading %s: %w", file, err)
	}
	return CanarySource{
		Name: name, Dir: name, File: file, Text: text, Open: open, Apply: apply,
		Fixture: func(repo string) (tare.Tree, error) {
			t := subtree(folder, strings.TrimSuffix(repo, "/"))
			if len(t) == 0 {
				return nil, errors.New("there is no such folder")
			}
			return slices.Clone(t), nil
		},
	}, nil
}
