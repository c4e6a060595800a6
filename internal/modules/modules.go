// Package modules fetches public Go modules at the versions that tasks name. None of their source is kept in this
// repository: it comes from wherever the user's go command gets modules, is checked by hash, and lies in the user's own
// module cache afterwards.
//
// The go command downloads and runs nothing of a module. What it hands over is not believed: the archive is read here, its
// hash is computed from what was read, and compared with the one that the task states.
package modules

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"tare"
)

// Bounds of one module.
const (
	maxArchive = 32 << 20 // bytes of the zip file
	maxSource  = 64 << 20 // bytes of the files in it
	maxFiles   = 10_000
	maxSaid    = 1 << 20 // bytes of what the go command says
)

// Unavailable is the error for a module that cannot be had: there is no go command, no network, or no such version.
type Unavailable struct {
	Module string // path@version
	Why    string // in one line
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("module %s cannot be fetched: %s", e.Module, e.Why)
}

// Different is the error for a module whose source is not what the task was made of.
type Different struct {
	Module    string // path@version
	Got, Want string // hashes, as go.sum has them
}

func (e *Different) Error() string {
	return fmt.Sprintf("module %s has the hash %s, and the task was made of %s", e.Module, e.Got, e.Want)
}

// A Source is the source of a module at two versions, without the directory that an archive has before each file.
type Source struct {
	Vulnerable, Fixed tare.Tree
}

// Fetch fetches both versions of m with the user's own settings of Go. goCommand is the go command's path, or "go".
// An error is an *Unavailable, a *Different, or of a module that cannot be read.
func Fetch(ctx context.Context, goCommand string, m tare.ModuleSpec) (Source, error) {
	var s Source
	var err error
	if s.Vulnerable, err = fetch(ctx, goCommand, m.Path, m.Vulnerable, m.Hash); err != nil {
		return Source{}, err
	}
	if s.Fixed, err = fetch(ctx, goCommand, m.Path, m.Fixed, m.FixedHash); err != nil {
		return Source{}, err
	}
	return s, nil
}

// fetch fetches one version.
func fetch(ctx context.Context, goCommand, path, version, hash string) (tare.Tree, error) {
	name := path + "@" + version
	file, err := download(ctx, goCommand, name)
	if err != nil {
		return nil, err
	}
	b, err := readArchive(file)
	if err != nil {
		return nil, fmt.Errorf("reading module %s: %w", name, err)
	}
	tree, sum, err := unpack(b, name+"/")
	if err != nil {
		return nil, fmt.Errorf("reading module %s: %w", name, err)
	}
	if sum != hash {
		return nil, &Different{Module: name, Got: sum, Want: hash}
	}
	return tree, nil
}

// download has the go command put a module into the user's cache and returns where its archive lies.
func download(ctx context.Context, goCommand, name string) (string, error) {
	dir, err := os.MkdirTemp("", "tare-module-") // no go.mod above it has a say
	if err != nil {
		return "", fmt.Errorf("fetching module %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, goCommand, "mod", "download", "-json", "--", name)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on")
	out, said := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("fetching module %s: %w", name, ctx.Err())
	}
	var got struct{ Zip, Error string }
	if jsonErr := json.Unmarshal(out.b, &got); jsonErr == nil && got.Error != "" {
		return "", &Unavailable{Module: name, Why: line(got.Error)}
	}
	switch {
	case err != nil:
		return "", &Unavailable{Module: name, Why: line(cmp.Or(string(bytes.TrimSpace(said.b)), err.Error()))}
	case got.Zip == "":
		return "", &Unavailable{Module: name, Why: "the go command does not say where it lies"}
	}
	return got.Zip, nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	w.b = append(w.b, p[:min(len(p), maxSaid-len(w.b))]...)
	return len(p), nil
}

// line is what a program said, as one line that is not too long.
func line(said string) string {
	s := strings.Join(strings.Fields(said), " ")
	if len(s) > 500 {
		s = s[:500] + " …"
	}
	return strings.ToValidUTF8(s, "?")
}

func readArchive(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxArchive+1))
	if err == nil && len(b) > maxArchive {
		err = fmt.Errorf("its archive is larger than %d MB", maxArchive>>20)
	}
	return b, err
}

// unpack reads the archive of a module, whose files all begin with prefix, and computes its hash as go.sum has it: of the
// sorted lines "HASH  NAME\n", where HASH is that of the file.
func unpack(b []byte, prefix string) (tare.Tree, string, error) {
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, "", err
	}
	if len(r.File) > maxFiles {
		return nil, "", fmt.Errorf("it has more than %d files", maxFiles)
	}
	slices.SortFunc(r.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	var files []tare.File
	left := int64(maxSource)
	for _, f := range r.File {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || strings.Contains(f.Name, "\n") {
			return nil, "", fmt.Errorf("%q is no file of it", f.Name)
		}
		data, err := content(f, left)
		if err != nil {
			return nil, "", fmt.Errorf("%q: %w", f.Name, err)
		}
		left -= int64(len(data))
		fmt.Fprintf(sum, "%x  %s\n", sha256.Sum256(data), f.Name)
		if !strings.HasSuffix(name, "/") {
			files = append(files, tare.File{Path: name, Mode: 0o644, Data: data}) // archives of modules keep no modes
		}
	}
	tree, err := tare.NewTree(files)
	if err == nil && len(tree) == 0 {
		err = errors.New("it is empty")
	}
	return tree, "h1:" + base64.StdEncoding.EncodeToString(sum.Sum(nil)), err
}

func content(f *zip.File, left int64) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, left+1))
	if err == nil && int64(len(b)) > left {
		err = fmt.Errorf("its files are larger than %d MB together", maxSource>>20)
	}
	return b, err
}
