package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	maxListed  = 5000      // files that one list_files shows
	maxEntries = 100_000   // directory entries that one walk looks at
	maxFile    = 64 << 20  // bytes of a file that can be paged through
	maxWrite   = 1 << 20   // bytes that one write_file writes
	pageSize   = 64 << 10  // default page of read_file
	maxPage    = 256 << 10 // largest page of read_file
)

// skipped are directories that no tool lists or searches.
var skipped = []string{".git", ".venv", "__pycache__", ".pytest_cache"}

// fileError is what an agent is told of an error on a path of its own; what is wrong with the machine stays ours.
func fileError(p string, err error) error {
	for _, ours := range []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.EROFS, os.ErrClosed} {
		if errors.Is(err, ours) {
			return err
		}
	}
	var refused refusal
	if errors.As(err, &refused) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("there is no file %s; list_files shows what there is", quote(p))
	}
	why := err
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch { // the inner error is without the path
	case errors.As(err, &pathErr):
		why = pathErr.Err
	case errors.As(err, &linkErr):
		why = linkErr.Err
	}
	if strings.Contains(why.Error(), "escapes") {
		return refuse("%s leads outside the workspace", quote(p))
	}
	return refuse("%s: %s", quote(p), why)
}

// readable is where the file lies that an agent named: in the workspace, or in a view, whose root is to be closed.
func (w *World) readable(name string) (*os.Root, string, error) {
	for _, v := range w.cfg.Views {
		below, ok := strings.CutPrefix(name, v.Guest+"/")
		if !ok {
			continue
		}
		p, err := clean(below)
		if err != nil {
			return nil, "", err
		}
		root, err := os.OpenRoot(v.Host)
		if err != nil {
			return nil, "", fmt.Errorf("opening %s: %w", v.Guest, err)
		}
		return root, p, nil
	}
	p, err := clean(name)
	return w.root, p, err
}

// openFile opens a regular file below root for reading. Symbolic links are followed as long as they stay inside.
func openFile(root *os.Root, p string) (*os.File, int64, error) {
	// O_NONBLOCK, so that opening a pipe, which an agent may have put there, does not wait for a writer.
	f, err := root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fileError(p, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fileError(p, err)
	case info.IsDir():
		err = refuse("%s is a directory", quote(p))
	case !info.Mode().IsRegular():
		err = refuse("%s is not a regular file", quote(p))
	case info.Size() > maxFile:
		err = refuse("%s has %d bytes; files above %d are not read", quote(p), info.Size(), maxFile)
	default:
		return f, info.Size(), nil
	}
	f.Close()
	return nil, 0, err
}

// walk calls visit for every entry that is no directory, by path, leaving out the skipped directories. It does not follow
// symbolic links. cut reports that there are more entries than it looks at.
func (w *World) walk(ctx context.Context, visit func(p string, d fs.DirEntry) error) (cut bool, err error) {
	seen := 0
	err = fs.WalkDir(w.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p == "." {
			return err // the workspace itself must be readable
		}
		if err != nil {
			return fs.SkipDir // vanished, or closed to us by the agent
		}
		if seen++; seen > maxEntries {
			cut = true
			return fs.SkipAll
		}
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		return visit(p, d)
	})
	return cut, err
}

type listIn struct {
	Noted
}

type listOut struct {
	Files     []string `json:"files" jsonschema:"paths of all files, relative to the workspace, sorted"`
	Total     int      `json:"total" jsonschema:"how many files there are"`
	Truncated bool     `json:"truncated" jsonschema:"there are more files than are listed"`
}

func (w *World) listFiles(ctx context.Context, _ call, _ listIn) ([]string, listOut, error) {
	out := listOut{Files: []string{}}
	cut, err := w.walk(ctx, func(p string, _ fs.DirEntry) error {
		out.Files = append(out.Files, strings.ToValidUTF8(p, "\ufffd"))
		return nil
	})
	if err != nil {
		return nil, listOut{}, fmt.Errorf("listing files: %w", err)
	}
	slices.Sort(out.Files)
	out.Total = len(out.Files)
	out.Truncated = cut || out.Total > maxListed
	if out.Total > maxListed {
		out.Files = out.Files[:maxListed]
	}
	text := jsonList(out.Files)
	if out.Truncated {
		return []string{text, fmt.Sprintf("[the first %d of at least %d files]", len(out.Files), out.Total)}, out, nil
	}
	return []string{text}, out, nil
}

type readIn struct {
	Path   string `json:"path" jsonschema:"file to read, relative to the workspace"`
	Offset int64  `json:"offset,omitempty" jsonschema:"byte to begin at, from 0; pass the previous result's next to go on"`
	Line   int64  `json:"line,omitempty" jsonschema:"line to begin at, from 1, in place of offset"`
	Limit  int64  `json:"limit,omitempty" jsonschema:"most bytes to return; default 65536, at most 262144; a page ends at the end of a line where it can"`
	Noted
}

type readOut struct {
	Path        string `json:"path"`
	Content     string `json:"content" jsonschema:"the text, as it is in the file"`
	Offset      int64  `json:"offset" jsonschema:"byte at which content begins"`
	FirstLine   int64  `json:"first_line" jsonschema:"number of the line in which content begins, from 1"`
	Size        int64  `json:"size" jsonschema:"bytes of the whole file"`
	Next        *int64 `json:"next,omitempty" jsonschema:"offset of the next page; absent at the end of the file"`
	InvalidUTF8 bool   `json:"invalid_utf8,omitempty" jsonschema:"bytes that are no UTF-8 are shown as U+FFFD"`
}

func (w *World) readFile(_ context.Context, _ call, in readIn) ([]string, readOut, error) {
	root, p, err := w.readable(in.Path)
	if err != nil {
		return nil, readOut{}, err
	}
	shown := p
	if root != w.root {
		defer root.Close()
		shown = in.Path
	}
	switch {
	case in.Offset < 0 || in.Line < 0 || in.Limit < 0:
		return nil, readOut{}, refuse("offset, line and limit must not be negative")
	case in.Offset > 0 && in.Line > 0:
		return nil, readOut{}, refuse("give offset or line, not both")
	}
	f, size, err := openFile(root, p)
	if err != nil {
		return nil, readOut{}, err
	}
	defer f.Close()
	offset, first, err := seek(f, in.Offset, in.Line)
	if err != nil {
		return nil, readOut{}, fileError(p, err)
	}
	limit := in.Limit
	if limit == 0 {
		limit = pageSize
	}
	page := make([]byte, max(0, min(limit, maxPage, size-offset)))
	n, err := f.ReadAt(page, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, readOut{}, fileError(p, err)
	}
	page = page[:n]
	out := readOut{Path: shown, Offset: offset, FirstLine: first, Size: size}
	if offset+int64(len(page)) < size && len(page) > 0 {
		page = page[:pageEnd(page)]
		next := offset + int64(len(page))
		out.Next = &next
	}
	out.InvalidUTF8 = !utf8.Valid(page)
	out.Content = strings.ToValidUTF8(string(page), "\ufffd")
	texts := []string{out.Content}
	if out.Next != nil || offset > 0 {
		texts = append(texts, fmt.Sprintf("[bytes %d to %d of %d, from line %d%s]", offset, offset+int64(len(page)), size, first, more(out.Next)))
	}
	if out.InvalidUTF8 {
		texts = append(texts, "[bytes that are no UTF-8 are shown as \ufffd]")
	}
	return texts, out, nil
}

func more(next *int64) string {
	if next == nil {
		return ""
	}
	return fmt.Sprintf("; to go on, offset %d", *next)
}

// seek finds the offset of a line, or the number of the line at an offset.
func seek(r io.ReaderAt, offset, line int64) (at, number int64, err error) {
	if offset == 0 && line <= 1 {
		return 0, 1, nil
	}
	number = 1
	buf := make([]byte, 64<<10)
	for at < offset || line > number {
		n, err := r.ReadAt(buf, at)
		part := buf[:n]
		if line == 0 {
			part = part[:min(int64(n), offset-at)]
		}
		for len(part) > 0 && (line == 0 || number < line) {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				at += int64(len(part))
				break
			}
			at += int64(i + 1)
			number++
			part = part[i+1:]
		}
		if errors.Is(err, io.EOF) && (n == 0 || at < offset || number < line) {
			if line == 0 {
				return 0, 0, refuse("offset %d is beyond the end of the file, which has %d bytes", offset, at)
			}
			return 0, 0, refuse("line %d is beyond the end of the file, which has %d lines", line, number)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
	}
	return at, number, nil
}

// pageEnd says where to cut a page that is not the file's last: after its last newline, else before a character that
// would be cut in two.
func pageEnd(page []byte) int {
	if i := bytes.LastIndexByte(page, '\n'); i >= 0 {
		return i + 1
	}
	for n := len(page) - 1; n > 0 && n > len(page)-utf8.UTFMax; n-- {
		if utf8.RuneStart(page[n]) {
			if !utf8.FullRune(page[n:]) {
				return n
			}
			break
		}
	}
	return len(page)
}

type writeIn struct {
	Path    string `json:"path" jsonschema:"file to write, relative to the workspace; missing directories are made"`
	Content string `json:"content" jsonschema:"the whole new text of the file, at most 1 MiB"`
	Noted
}

type writeOut struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes" jsonschema:"bytes written"`
	Created bool   `json:"created" jsonschema:"there was no such file before"`
}

func (w *World) writeFile(_ context.Context, _ call, in writeIn) ([]string, writeOut, error) {
	p, err := clean(in.Path)
	if err != nil {
		return nil, writeOut{}, err
	}
	if len(in.Content) > maxWrite {
		return nil, writeOut{}, refuse("the content has %d bytes; at most %d can be written at once", len(in.Content), maxWrite)
	}
	mode, created, err := w.place(p)
	if err != nil {
		return nil, writeOut{}, fileError(p, err)
	}
	if err := w.replace(p, []byte(in.Content), mode); err != nil {
		return nil, writeOut{}, fileError(p, err)
	}
	out := writeOut{Path: p, Bytes: len(in.Content), Created: created}
	return []string{fmt.Sprintf("wrote %s (%d bytes)", p, out.Bytes)}, out, nil
}

// place readies the place at which p is to be written: the directories above it are made, and no part of it may be a
// symbolic link, since one that stays inside could still lead into .git.
func (w *World) place(p string) (mode fs.FileMode, created bool, err error) {
	parts := strings.Split(p, "/")
	for i := range parts[:len(parts)-1] {
		dir := path.Join(parts[:i+1]...)
		info, err := w.root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := w.root.Mkdir(dir, 0o755); err != nil {
				return 0, false, err
			}
			if err := w.own(dir); err != nil {
				return 0, false, err
			}
		case err != nil:
			return 0, false, err
		case info.Mode()&fs.ModeSymlink != 0:
			return 0, false, refuse("%s is a symbolic link; write_file does not write through one", quote(dir))
		case !info.IsDir():
			return 0, false, refuse("%s is not a directory", quote(dir))
		}
	}
	info, err := w.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, true, nil
	case err != nil:
		return 0, false, err
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, false, refuse("%s is a symbolic link; write_file does not write through one", quote(p))
	case info.IsDir():
		return 0, false, refuse("%s is a directory", quote(p))
	case !info.Mode().IsRegular():
		return 0, false, refuse("%s is not a regular file", quote(p))
	}
	return info.Mode().Perm(), false, nil
}

// replace puts data at p in one step, so that a reader sees the old file or the new one, and a file that the agent made
// a hard link of elsewhere keeps its content there.
func (w *World) replace(p string, data []byte, mode fs.FileMode) (err error) {
	tmp := path.Join(path.Dir(p), fmt.Sprintf(".tmp-%d-%s", w.serial.Add(1), w.token))
	f, err := w.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.root.Remove(tmp)
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	if err := w.own(tmp); err != nil {
		return err
	}
	return w.root.Rename(tmp, p)
}

// own hands what the server made to the identity that the sandbox runs as.
func (w *World) own(p string) error {
	uid, gid := w.cfg.Sandbox.Owner()
	if os.Geteuid() != 0 || uid == 0 {
		return nil
	}
	return w.root.Lchown(p, uid, gid)
}
