package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tare"
)

// Bounds of one suite's folder, and so of one task's.
const (
	MaxBytes = 64 << 20
	MaxFiles = 20000
)

var errTooLarge = fmt.Errorf("the folder holds more than %d files or %d MB", MaxFiles, MaxBytes>>20)

// A budget is what may still be read.
type budget struct {
	files int
	bytes int64
}

func newBudget() *budget { return &budget{files: MaxFiles, bytes: MaxBytes} }

func (b *budget) take(size int64) error {
	b.files--
	b.bytes -= size
	if b.files < 0 || b.bytes < 0 || size < 0 {
		return errTooLarge
	}
	return nil
}

// readTree reads the folder dir from disk, in the one form that a task has wherever it comes from: modes are 0644, or
// 0755 where the owner may execute; a symbolic link is its target; folders that hold nothing do not count, as git
// would not keep them. It follows no link below dir.
func readTree(dir string, b *budget) (tare.Tree, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var files []tare.File
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		f, err := readFile(p, filepath.ToSlash(rel), b)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tare.NewTree(files)
}

func readFile(p, name string, b *budget) (tare.File, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return tare.File{}, err
	}
	switch info.Mode().Type() {
	case 0:
		if err := b.take(info.Size()); err != nil {
			return tare.File{}, err
		}
		data, err := readBounded(p, info.Size())
		return tare.File{Path: name, Mode: fileMode(info.Mode()), Data: data}, err
	case fs.ModeSymlink:
		target, err := os.Readlink(p)
		if err != nil {
			return tare.File{}, err
		}
		return tare.File{Path: name, Mode: linkMode, Data: []byte(filepath.ToSlash(target))}, b.take(int64(len(target)))
	default:
		return tare.File{}, fmt.Errorf("%s is neither a file, a folder nor a symbolic link", printable(name))
	}
}

// readBounded reads the file p, which had size bytes a moment ago.
func readBounded(p string, size int64) ([]byte, error) {
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSized(f, size)
}

// readSized reads all of r, which must be size bytes.
func readSized(r io.Reader, size int64) ([]byte, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	var more [1]byte
	switch n, err := r.Read(more[:]); {
	case n > 0:
		return nil, errors.New("the file grew while it was read")
	case err != nil && err != io.EOF:
		return nil, err
	}
	return data, nil
}

// linkMode is the mode of every symbolic link in a task.
const linkMode = fs.ModeSymlink | 0o777

func fileMode(m fs.FileMode) fs.FileMode {
	if m&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// badPath says why a path cannot be part of a task; "" if it can. Such paths do not survive git, an archive and
// another system alike.
func badPath(p string) string {
	switch {
	case !utf8.ValidString(p):
		return "is not UTF-8"
	case strings.ContainsRune(p, '\\'):
		return "has a backslash"
	case strings.IndexFunc(p, unicode.IsControl) >= 0:
		return "has a control character"
	case slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		return "lies in a .git folder, which git does not keep"
	}
	return ""
}

// subtree is what lies below dir, with paths as seen from there. Contents are shared with t.
func subtree(t tare.Tree, dir string) tare.Tree {
	var out tare.Tree
	for _, f := range t {
		if rel, ok := strings.CutPrefix(f.Path, dir+"/"); ok {
			out = append(out, tare.File{Path: rel, Mode: f.Mode, Data: f.Data})
		}
	}
	slices.SortFunc(out, func(a, b tare.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}
