package workspace

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tare"
)

// This file writes and reads as much of git's own format as is needed to make a commit without a process, and to
// hand trees to git and take them back without a checkout.

// An oid is the name of a git object.
type oid [sha1.Size]byte

func (id oid) String() string { return hex.EncodeToString(id[:]) }

// Git's modes.
const (
	gitFile = 0o100644
	gitExec = 0o100755
	gitLink = 0o120000
	gitTree = 0o040000
)

// gitMode is the mode that git records for a file or link: of the permissions it knows but the owner's x.
func gitMode(m fs.FileMode) uint32 {
	switch {
	case m.Type() == fs.ModeSymlink:
		return gitLink
	case m&0o100 != 0:
		return gitExec
	}
	return gitFile
}

// inDotGit reports whether p, or a directory that it lies in, is called .git in upper or lower case.
func inDotGit(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(name, ".git") {
			return true
		}
	}
	return false
}

// An odb is a set of git objects in memory.
type odb struct {
	objects map[oid][]byte // with their header
}

func newODB() odb { return odb{map[oid][]byte{}} }

// errCollision: two contents with the same name would make a difference invisible. It can only be done on purpose.
var errCollision = errors.New("two different contents have the same SHA-1")

func (db odb) add(kind string, data []byte) (oid, error) {
	raw := make([]byte, 0, len(data)+32)
	raw = fmt.Appendf(raw, "%s %d\x00", kind, len(data))
	raw = append(raw, data...)
	id := oid(sha1.Sum(raw))
	if old, ok := db.objects[id]; ok && !bytes.Equal(old, raw) {
		return id, errCollision
	}
	db.objects[id] = raw
	return id, nil
}

// An indexEntry is one file as git's index and its trees hold it.
type indexEntry struct {
	path string
	mode uint32
	id   oid
}

// blobs adds the content of the files and links of t, and returns them as entries in t's order. Empty directories,
// which git does not know, are left out.
func (db odb) blobs(t tare.Tree) ([]indexEntry, error) {
	var out []indexEntry
	for _, f := range t {
		if f.Mode.IsDir() {
			continue
		}
		id, err := db.add("blob", f.Data)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Path, err)
		}
		out = append(out, indexEntry{f.Path, gitMode(f.Mode), id})
	}
	return out, nil
}

// trees adds the tree objects for the entries and returns the name of the uppermost.
func (db odb) trees(entries []indexEntry) (oid, error) {
	children := map[string][]indexEntry{".": nil} // directory to what is in it, under plain names
	seen := map[string]bool{}
	var dirs []string
	for _, e := range entries {
		d := path.Dir(e.path)
		children[d] = append(children[d], indexEntry{path.Base(e.path), e.mode, e.id})
		for ; d != "." && !seen[d]; d = path.Dir(d) {
			seen[d] = true
			dirs = append(dirs, d)
		}
	}
	// The deepest first, so that a directory is done when the one above it needs its name.
	slices.SortFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, d := range dirs {
		id, err := db.tree(children[d])
		if err != nil {
			return id, err
		}
		up := path.Dir(d)
		children[up] = append(children[up], indexEntry{path.Base(d), gitTree, id})
	}
	return db.tree(children["."])
}

func (db odb) tree(entries []indexEntry) (oid, error) {
	key := func(e indexEntry) string { // git sorts a directory as if its name ended in a slash
		if e.mode == gitTree {
			return e.path + "/"
		}
		return e.path
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return strings.Compare(key(a), key(b)) })
	var buf bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&buf, "%o %s\x00", e.mode, e.path)
		buf.Write(e.id[:])
	}
	return db.add("tree", buf.Bytes())
}

// loose returns the objects as the files of an objects directory at prefix. level is zlib's.
func (db odb) loose(prefix string, level int) (tare.Tree, error) {
	t := make(tare.Tree, 0, len(db.objects))
	var buf bytes.Buffer
	z, err := zlib.NewWriterLevel(&buf, level)
	if err != nil {
		return nil, err
	}
	for id, raw := range db.objects {
		buf.Reset()
		z.Reset(&buf)
		if _, err := z.Write(raw); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		name := id.String()
		t = append(t, tare.File{Path: prefix + "/" + name[:2] + "/" + name[2:], Mode: 0o444, Data: bytes.Clone(buf.Bytes())})
	}
	return t, nil
}

// inflate undoes the compression of a loose object and returns kind and content, of at most limit bytes.
func inflate(r io.Reader, limit int64) (kind string, data []byte, err error) {
	z, err := zlib.NewReader(r)
	if err != nil {
		return "", nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, limit+64))
	if err != nil {
		return "", nil, err
	}
	head, data, ok := bytes.Cut(raw, []byte{0})
	kind, size, ok2 := strings.Cut(string(head), " ")
	if !ok || !ok2 || size != fmt.Sprint(len(data)) || int64(len(data)) > limit {
		return "", nil, errors.New("git object is damaged or too large")
	}
	return kind, data, nil
}

// encodeIndex writes entries, which are sorted by path, as a version 2 index. It holds no times and sizes of files,
// so git compares contents when it first looks.
func encodeIndex(entries []indexEntry) []byte {
	b := []byte("DIRC")
	b = binary.BigEndian.AppendUint32(b, 2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	for _, e := range entries {
		start := len(b)
		b = append(b, make([]byte, 24)...) // two times, device, inode
		b = binary.BigEndian.AppendUint32(b, e.mode)
		b = append(b, make([]byte, 12)...) // owner, group, size
		b = append(b, e.id[:]...)
		b = binary.BigEndian.AppendUint16(b, uint16(min(len(e.path), 0xfff)))
		b = append(b, e.path...)
		b = append(b, make([]byte, 8-(len(b)-start)%8)...)
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// decodeIndex reads the entries of a version 2 index.
func decodeIndex(b []byte) ([]indexEntry, error) {
	damaged := errors.New("git's index is not in the form that was expected")
	if len(b) < 12 || string(b[:4]) != "DIRC" || binary.BigEndian.Uint32(b[4:]) != 2 {
		return nil, damaged
	}
	n := binary.BigEndian.Uint32(b[8:])
	b = b[12:]
	var out []indexEntry
	for range n {
		const fixed = 62
		if len(b) < fixed {
			return nil, damaged
		}
		end := bytes.IndexByte(b[fixed:], 0)
		size := (fixed + end + 8) &^ 7
		if end < 0 || len(b) < size || binary.BigEndian.Uint16(b[60:])&0x3000 != 0 { // an unmerged stage
			return nil, damaged
		}
		out = append(out, indexEntry{
			path: string(b[fixed : fixed+end]),
			mode: binary.BigEndian.Uint32(b[24:]),
			id:   oid(b[40:60]),
		})
		b = b[size:]
	}
	return out, nil
}

// The first commit looks the same in every workspace, so that it tells nothing about the task.
const (
	commitWho  = "dev <dev@localhost> 1704067200 +0000" // 2024-01-01
	commitText = "Initial commit\n"
	repoConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" +
		"[user]\n\tname = dev\n\temail = dev@localhost\n"
)

// firstCommit returns the files of a .git that holds t, which is canonical, as its only commit, checked out.
func firstCommit(t tare.Tree) (tare.Tree, error) {
	db := newODB()
	entries, err := db.blobs(t)
	if err != nil {
		return nil, err
	}
	top, err := db.trees(entries)
	if err != nil {
		return nil, err
	}
	commit, err := db.add("commit", fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s", top, commitWho, commitWho, commitText))
	if err != nil {
		return nil, err
	}
	repo, err := db.loose(".git/objects", zlib.DefaultCompression)
	if err != nil {
		return nil, err
	}
	return append(repo,
		tare.File{Path: ".git/HEAD", Mode: 0o644, Data: []byte("ref: refs/heads/main\n")},
		tare.File{Path: ".git/refs/heads/main", Mode: 0o644, Data: []byte(commit.String() + "\n")},
		tare.File{Path: ".git/config", Mode: 0o644, Data: []byte(repoConfig)},
		tare.File{Path: ".git/index", Mode: 0o644, Data: encodeIndex(entries)},
	), nil
}
