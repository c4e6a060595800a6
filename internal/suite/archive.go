package suite

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tare"
)

// Pack makes the archive of the suite in the folder dir: a zip file with one entry for each file of each task, sorted,
// undated, with its mode; of a symbolic link the content is the target. suite.yaml comes first, where there is one. Before each task stand the parsed forms of its
// task.yaml, named NAME.parsed, and of its other YAML files, named NAME:FILE.parsed. Equal folders give equal bytes, whatever
// their owners, dates and umask, as long as the compressor of Go's standard library stays the same. It packs only
// what LoadSuite accepts.
func Pack(dir string) ([]byte, error) {
	if _, err := LoadSuite(dir); err != nil {
		return nil, err
	}
	read, err := readSuite(dir)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	if read.about != nil {
		if err := addFiles(w, []tare.File{{Path: suiteFile, Mode: 0o644, Data: read.about}}); err != nil {
			return nil, err
		}
	}
	for _, t := range read.trees {
		var files []tare.File
		for _, name := range []string{taskFile, stateFile, agentsFile} {
			text, ok := t.tree.Lookup(name)
			if !ok {
				continue
			}
			root, err := parseYAML(text.Data)
			if err != nil {
				return nil, fmt.Errorf("parsing %s of %s: %w", name, t.name, err)
			}
			entry := t.name
			if name != taskFile {
				entry += parsedMark + name
			}
			files = append(files, tare.File{Path: entry + parsedSuffix, Mode: 0o644, Data: encodeParsed(text.Data, root)})
		}
		for _, f := range t.tree {
			files = append(files, tare.File{Path: t.name + "/" + f.Path, Mode: f.Mode, Data: f.Data})
		}
		if err := addFiles(w, files); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", dir, err)
	}
	return buf.Bytes(), nil
}

// parsedSuffix ends the name of an entry that holds a parsed form; parsedMark, which no task's name has, stands between the
// task and its file.
const (
	parsedSuffix = ".parsed"
	parsedMark   = ":"
)

func addFiles(w *zip.Writer, files []tare.File) error {
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Path, Method: zip.Deflate}
		h.SetMode(f.Mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
		if _, err := entry.Write(f.Data); err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	return nil
}

// SameContent reports whether two archives hold the same files, modes and links, however they are compressed.
func SameContent(a, b []byte) bool {
	x, errX := unpack(a)
	y, errY := unpack(b)
	if errX != nil || errY != nil {
		return false
	}
	return bytes.Equal(x.about, y.about) && slices.EqualFunc(x.trees, y.trees, func(x, y namedTree) bool {
		return x.name == y.name && maps.Equal(x.parsed, y.parsed) && x.tree.Digest() == y.tree.Digest()
	})
}

// unpack reads an archive that Pack made, in memory and within the bounds of a suite.
func unpack(b []byte) (folder, error) { return unpackOnly(b, "") }

// unpackOnly is unpack with one task, the one called only, or with all where that is "".
func unpackOnly(b []byte, only string) (folder, error) {
	var out folder
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return out, err
	}
	left := newBudget()
	files := map[string][]tare.File{}
	parsed := map[string]map[string]string{}
	for _, f := range r.File {
		task, name, ok := strings.Cut(f.Name, "/")
		form, isForm := strings.CutSuffix(f.Name, parsedSuffix)
		if of, _, _ := strings.Cut(form, parsedMark); only != "" && (ok && task != only || !ok && isForm && of != only) {
			continue
		}
		file, err := unpackFile(f, left)
		if err != nil {
			return out, err
		}
		switch {
		case f.Name == suiteFile && file.Mode.IsRegular() && len(file.Data) <= maxAbout:
			out.about = file.Data
		case ok && task != "" && name != "":
			file.Path = name
			files[task] = append(files[task], file)
		case !ok && isForm:
			task, name, other := strings.Cut(form, parsedMark)
			if !other {
				name = taskFile
			}
			if parsed[task] == nil {
				parsed[task] = map[string]string{}
			}
			parsed[task][name] = string(file.Data)
		default:
			return out, fmt.Errorf("entry %s lies in no task's folder", clip(f.Name))
		}
	}
	if len(files) == 0 {
		return out, errors.New("the archive is empty")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tree, err := tare.NewTree(files[name])
		if err != nil {
			return out, err
		}
		out.trees = append(out.trees, namedTree{name, tree, parsed[name]})
	}
	return out, nil
}

// unpackFile reads one entry; its Path is not set.
func unpackFile(f *zip.File, left *budget) (tare.File, error) {
	if f.UncompressedSize64 > MaxBytes {
		return tare.File{}, errTooLarge
	}
	size := int64(f.UncompressedSize64)
	if err := left.take(size); err != nil {
		return tare.File{}, err
	}
	mode := f.Mode()
	switch mode.Type() {
	case 0:
		mode = fileMode(mode)
	case fs.ModeSymlink:
		mode = linkMode
	default:
		return tare.File{}, fmt.Errorf("entry %s is neither a file nor a symbolic link", clip(f.Name))
	}
	r, err := f.Open()
	if err != nil {
		return tare.File{}, fmt.Errorf("reading entry %s: %w", clip(f.Name), err)
	}
	defer r.Close()
	data, err := readSized(r, size)
	if err != nil {
		return tare.File{}, fmt.Errorf("reading entry %s: %w", clip(f.Name), err)
	}
	return tare.File{Mode: mode, Data: data}, nil
}
