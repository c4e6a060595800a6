package tare

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A File is one entry of a Tree: a regular file, a directory that is empty, or a symbolic link.
type File struct {
	Path string      // slash-separated, relative, clean; bytes as found, which need not be UTF-8
	Mode fs.FileMode // type bits (0, fs.ModeDir, fs.ModeSymlink) and the permission bits
	Data []byte      // the content; of a symbolic link, its target
}

// A Tree is a set of files in memory, sorted by path, each path once. Directories that hold something are implied.
type Tree []File

// NewTree sorts files into a Tree. It refuses paths that are absolute, unclean, leave the tree, or occur twice.
func NewTree(files []File) (Tree, error) {
	t := slices.Clone(files)
	slices.SortFunc(t, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	for i, f := range t {
		if f.Path == "" || f.Path == "." || path.Clean(f.Path) != f.Path || path.IsAbs(f.Path) || f.Path == ".." || strings.HasPrefix(f.Path, "../") || strings.ContainsRune(f.Path, 0) {
			return nil, fmt.Errorf("path %q is not a clean relative path", f.Path)
		}
		if i > 0 && t[i-1].Path == f.Path {
			return nil, fmt.Errorf("path %q occurs twice", f.Path)
		}
	}
	return t, nil
}

// Lookup finds the file at path p.
func (t Tree) Lookup(p string) (File, bool) {
	i, ok := slices.BinarySearchFunc(t, p, func(f File, p string) int { return cmp.Compare(f.Path, p) })
	if !ok {
		return File{}, false
	}
	return t[i], true
}

// Overlay returns t with the files of over put on top: a file replaces the one at its path, and also whatever
// stands in its way (a file where over needs a directory, or files below a path that over makes a file).
func (t Tree) Overlay(over Tree) Tree {
	if len(over) == 0 {
		return slices.Clone(t)
	}
	blocked := func(p string) bool {
		for _, f := range over {
			if f.Path == p || strings.HasPrefix(p, f.Path+"/") && !f.Mode.IsDir() || strings.HasPrefix(f.Path, p+"/") {
				return true
			}
		}
		return false
	}
	out := make(Tree, 0, len(t)+len(over))
	for _, f := range t {
		if !blocked(f.Path) {
			out = append(out, f)
		}
	}
	out = append(out, over...)
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// Without returns t less the given paths and all that lies below them.
func (t Tree) Without(paths ...string) Tree {
	return t.Filter(func(f File) bool { return !Under(f.Path, paths...) })
}

// Filter returns the files of t for which keep is true.
func (t Tree) Filter(keep func(File) bool) Tree {
	out := make(Tree, 0, len(t))
	for _, f := range t {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// Under reports whether p is one of dirs or lies below one of them. "." holds everything.
func Under(p string, dirs ...string) bool {
	for _, d := range dirs {
		if d == "." || p == d || strings.HasPrefix(p, d+"/") {
			return true
		}
	}
	return false
}

// Digest is the hash of the whole tree: of each file's path, type, permission bits and content.
func (t Tree) Digest() Digest {
	h := sha256.New()
	for _, f := range t {
		fmt.Fprintf(h, "%d:%s %o %d:", len(f.Path), f.Path, f.Mode, len(f.Data))
		h.Write(f.Data)
	}
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// Size is the number of bytes of content in t.
func (t Tree) Size() int64 {
	var n int64
	for _, f := range t {
		n += int64(len(f.Data))
	}
	return n
}

// ChangeKind says what became of a file between two trees.
type ChangeKind string

const (
	Added    ChangeKind = "added"
	Deleted  ChangeKind = "deleted"
	Modified ChangeKind = "modified" // content, mode or type
)

// A Change is one file that differs between two trees.
type Change struct {
	Path   string     `json:"path"`
	Kind   ChangeKind `json:"kind"`
	Mode   string     `json:"mode,omitempty"`   // of the newer file, as ls prints it
	Digest Digest     `json:"digest,omitempty"` // of the newer file's content
	Size   int64      `json:"size"`
}

// Changes lists what differs from t to now, by path.
func (t Tree) Changes(now Tree) []Change {
	var out []Change
	for _, f := range now {
		old, ok := t.Lookup(f.Path)
		if ok && old.Mode == f.Mode && bytes.Equal(old.Data, f.Data) {
			continue
		}
		c := Change{Path: f.Path, Kind: Modified, Mode: f.Mode.String(), Digest: HashBytes(f.Data), Size: int64(len(f.Data))}
		if !ok {
			c.Kind = Added
		}
		out = append(out, c)
	}
	for _, f := range t {
		if _, ok := now.Lookup(f.Path); !ok {
			out = append(out, Change{Path: f.Path, Kind: Deleted})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}
