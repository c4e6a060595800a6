package workspace

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"tare"
)

// maxCommit bounds the files of a commit, in bytes.
const maxCommit = 256 << 20

// Commit reads the files of a commit of the caller's own repository at dir: rev is anything that git takes for a commit,
// such as SHA or SHA^. Unlike the rest of this package it uses a repository that the caller trusts.
func Commit(ctx context.Context, dir, rev string) (tare.Tree, error) {
	if strings.HasPrefix(rev, "-") {
		return nil, fmt.Errorf("reading commit %q: not the name of a commit", rev)
	}
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "archive", "--format=tar", rev)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, maxCommit}, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("reading commit %s: %w: %s", rev, err, strings.TrimSpace(errs.String()))
	}
	var files []tare.File
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tare.NewTree(files)
		}
		if err != nil {
			return nil, fmt.Errorf("reading commit %s: %w", rev, err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			b, err := io.ReadAll(r)
			if err != nil {
				return nil, fmt.Errorf("reading commit %s: %w", rev, err)
			}
			files = append(files, tare.File{Path: h.Name, Mode: 0o644 | fs.FileMode(h.Mode)&0o111, Data: b})
		case tar.TypeSymlink:
			files = append(files, tare.File{Path: h.Name, Mode: fs.ModeSymlink | 0o777, Data: []byte(h.Linkname)})
		}
	}
}

// A limited writer refuses more than left bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("more than %d bytes", maxCommit)
	}
	return l.w.Write(p)
}
