package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tare"
)

// The limits of Read, where the caller names none.
const (
	DefaultFiles     = 20_000
	DefaultBytes     = 256 << 20
	DefaultFileBytes = 32 << 20
)

const (
	maxPath      = 4096 // as Linux has it, of a path and of a link's target
	maxDepth     = 100  // directories inside directories; each level holds a descriptor
	maxOmissions = 200  // that are listed one by one
)

// ReadLimits bounds what Read takes into memory. Zero values stand for the defaults.
type ReadLimits struct {
	Files     int   // entries of all kinds, DefaultFiles
	Bytes     int64 // content in all, DefaultBytes
	FileBytes int64 // content of one file, DefaultFileBytes

	// First is what is looked at before all else, and with it the files beside it: what somebody piles up elsewhere, a
	// cache say, must not use up the limits before it is their turn.
	First tare.Tree

	// Skip lists names that are left out without a word, at any depth and in upper or lower case. nil stands for
	// ".git"; an empty slice for none.
	Skip []string
}

func (l ReadLimits) withDefaults() ReadLimits {
	if l.Files == 0 {
		l.Files = DefaultFiles
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.FileBytes == 0 {
		l.FileBytes = DefaultFileBytes
	}
	if l.Skip == nil {
		l.Skip = []string{".git"}
	}
	return l
}

// An Omission is one entry of a directory that Read left out, and why.
type Omission struct {
	Path   string
	Mode   fs.FileMode // as found, when known
	Size   int64       // as found, when known
	Reason string      // a phrase such as "a named pipe"
}

// An OmittedError comes from Read together with a tree that holds everything else: entries that are neither file,
// directory nor link, that are beyond a limit, or that could not be read.
type OmittedError struct {
	Omissions []Omission // sorted by path, at most 200
	More      int        // how many there are besides
}

func (e *OmittedError) Error() string {
	first := e.Omissions[0]
	s := fmt.Sprintf("reading a tree: left out %q: %s", first.Path, first.Reason)
	if n := len(e.Omissions) + e.More - 1; n > 0 {
		s += fmt.Sprintf(", and %d more", n)
	}
	return s
}

// LeftOut tells an error of Read, Snapshot or Changes that only says what was left out from one that means that
// nothing was read: the first comes back as a list and a nil error, the second as it is.
func LeftOut(err error) ([]Omission, error) {
	var omitted *OmittedError
	if errors.As(err, &omitted) {
		return omitted.Omissions, nil
	}
	return nil, err
}

// Read returns what is in dir, as bytes, within the limits l. It follows no link, and never opens a pipe, a socket or
// a device. Entries that it cannot take are named in an *OmittedError, with which the tree of all others is returned:
// an agent that leaves a pipe behind must not be able to keep its work from being looked at. Any other error comes
// without a tree. A directory is an entry of the tree when it holds nothing that is.
func Read(dir string, l ReadLimits) (tare.Tree, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() { // opening a pipe would wait for whoever writes to it
		return nil, fmt.Errorf("reading a tree: %s is %s, not a directory", dir, kindOf(info.Mode()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("reading a tree: %w", err)
	}
	defer root.Close()
	r := reader{ReadLimits: l.withDefaults(), done: map[string]bool{}}
	if len(l.First) > 0 {
		r.first = known(l.First)
		if _, err := r.dir(root, "", 0); err != nil {
			return nil, fmt.Errorf("reading a tree: %w", err)
		}
		r.first = nil
	}
	if _, err := r.dir(root, "", 0); err != nil {
		return nil, fmt.Errorf("reading a tree: %w", err)
	}
	// Reading a directory at a time gives "a/b" before "a.c"; a Tree is sorted by the whole path.
	t, err := tare.NewTree(r.files)
	if err != nil {
		return nil, fmt.Errorf("reading a tree: %w", err)
	}
	if len(r.omitted.Omissions) > 0 {
		slices.SortFunc(r.omitted.Omissions, func(a, b Omission) int { return strings.Compare(a.Path, b.Path) })
		return t, &r.omitted
	}
	return t, nil
}

// A reader holds what is left of the limits and what has been read so far.
type reader struct {
	ReadLimits
	files   []tare.File
	omitted OmittedError
	first   map[string][]string // while only these directories are read: what is known to be in each; nil for all
	done    map[string]bool     // what was looked at, directories aside: whether it was taken
}

// known lists what t has in each of its directories.
func known(t tare.Tree) map[string][]string {
	in := map[string][]string{}
	seen := map[string]bool{}
	for _, f := range t {
		for p := f.Path; p != "." && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			dir, name := path.Split(p)
			dir = strings.TrimSuffix(dir, "/")
			in[dir] = append(in[dir], name)
		}
	}
	return in
}

func (r *reader) omit(p string, info fs.FileInfo, reason string) {
	if len(r.omitted.Omissions) == maxOmissions {
		r.omitted.More++
		return
	}
	o := Omission{Path: p, Reason: reason}
	if info != nil {
		o.Mode, o.Size = info.Mode(), info.Size()
	}
	r.omitted.Omissions = append(r.omitted.Omissions, o)
}

// dir reads the directory root, which is at p, and says how many entries of the tree lie below it.
func (r *reader) dir(root *os.Root, p string, depth int) (int, error) {
	names, more, err := list(root, r.Files)
	if err != nil {
		return 0, err
	}
	if r.first != nil {
		// what is known to be here comes first, also where the list stops before it
		names = slices.Concat(r.first[p], slices.DeleteFunc(names, func(n string) bool { return slices.Contains(r.first[p], n) }))
	}
	held := 0
	for _, name := range names {
		if slices.ContainsFunc(r.Skip, func(s string) bool { return strings.EqualFold(s, name) }) {
			continue
		}
		at := path.Join(p, name)
		if taken, done := r.done[at]; done {
			if taken {
				held++
			}
			continue
		}
		if r.Files == 0 {
			more = true
			break
		}
		held += r.entry(root, name, at, depth)
	}
	if more && r.first == nil {
		r.omit(path.Join(".", p), nil, "more entries than the limit")
	}
	return held, nil
}

// list returns up to n names of what is in the directory, sorted, and whether there are more.
func list(root *os.Root, n int) ([]string, bool, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	names, err := f.Readdirnames(n + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	slices.Sort(names)
	return names[:min(n, len(names))], len(names) > n, nil
}

// entry reads what is called name in root, and says how many entries of the tree that is. A failure is an omission.
func (r *reader) entry(root *os.Root, name, p string, depth int) int {
	info, err := root.Lstat(name)
	before := len(r.files)
	switch known := r.first[p] != nil; {
	case r.first != nil && errors.Is(err, fs.ErrNotExist): // it is known and no more
		return 0
	case err == nil && info.IsDir() && len(p) <= maxPath && r.first != nil:
		if known {
			r.subdir(root, name, p, info, depth)
		}
		return 0 // the second look counts
	case err == nil && info.IsDir() && len(p) <= maxPath:
		r.Files--
		return r.subdir(root, name, p, info, depth)
	}
	r.Files--
	switch {
	case err != nil:
		r.omit(p, nil, reason(err))
	case len(p) > maxPath:
		r.omit(p[:maxPath], info, "a path that is too long")
	case info.Mode().IsRegular():
		r.regular(root, name, p, info)
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(name)
		if err != nil {
			r.omit(p, info, reason(err))
			break
		}
		r.files = append(r.files, tare.File{Path: p, Mode: fs.ModeSymlink | 0o777, Data: []byte(target)})
	default:
		r.omit(p, info, kindOf(info.Mode()))
	}
	r.done[p] = len(r.files) > before
	return len(r.files) - before
}

func (r *reader) regular(root *os.Root, name, p string, info fs.FileInfo) {
	if info.Size() > r.FileBytes {
		r.omit(p, info, "a file larger than "+size(r.FileBytes))
		return
	}
	if info.Size() > r.Bytes {
		r.omit(p, info, "more content in all than the limit")
		return
	}
	data, err := readSame(root, name, info)
	if err != nil {
		r.omit(p, info, reason(err))
		return
	}
	r.Bytes -= int64(len(data))
	r.files = append(r.files, tare.File{Path: p, Mode: info.Mode().Perm(), Data: data})
}

// size shows a limit for people.
func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// OpenFile opens one file that a person named. Neither a device, which may have no end, nor a named pipe, to which nobody may
// write, is opened; a pipe that this process was handed, as a shell's <(command) does, is.
func OpenFile(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	handed := info.Mode()&fs.ModeNamedPipe != 0 && (strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/"))
	if !info.Mode().IsRegular() && !handed {
		return nil, nil, errors.Join(fmt.Errorf("%s is %s, not a file", name, kindOf(info.Mode())), f.Close())
	}
	return f, info, nil
}

// ReadFile reads one file as OpenFile opens it, of at most so many bytes.
func ReadFile(name string, most int64) ([]byte, error) {
	f, info, err := OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := fmt.Errorf("%s is larger than %s", name, size(most))
	if info.Size() > most {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = tooLarge
	}
	return b, err
}

var errChanged = errors.New("it changed while it was read")

// readSame reads the regular file that info describes. A process that is still alive may put something else in its
// place: a link or a pipe then, which must neither be followed nor waited for, or a file that grows without end.
func readSame(root *os.Root, name string, info fs.FileInfo) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() || !os.SameFile(info, now) { // numbers of files are used again
		return nil, errors.Join(errChanged, err)
	}
	data := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, data)
	if n > int(info.Size()) {
		return nil, errChanged
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return data[:n:n], nil
}

// subdir reads a directory, and says how many entries of the tree it makes. A failure of the first look is left to the
// second.
func (r *reader) subdir(root *os.Root, name, p string, info fs.FileInfo, depth int) int {
	omit := func(why string) int {
		if r.first == nil {
			r.omit(p, info, why)
		}
		return 0
	}
	if depth+1 > maxDepth {
		return omit(fmt.Sprintf("more than %d directories deep", maxDepth))
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return omit(reason(err))
	}
	defer sub.Close()
	if now, err := sub.Lstat("."); err != nil || !os.SameFile(info, now) {
		return omit(errChanged.Error())
	}
	n, err := r.dir(sub, p, depth+1)
	if err != nil {
		return omit(reason(err))
	}
	if n == 0 && r.first == nil {
		r.files = append(r.files, tare.File{Path: p, Mode: fs.ModeDir | info.Mode().Perm()})
		n = 1
	}
	return n
}

// reason is err without the path of the machine's that the os package puts into it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return "could not be read: " + pe.Err.Error()
	}
	return err.Error()
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "neither a file nor a directory nor a link"
}
