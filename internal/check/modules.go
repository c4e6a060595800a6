package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// A ModuleStore keeps public Go modules in a directory: sources that tasks are made of, and apart from them what builds need.
// It is filled by the go command, with the settings of whoever runs this (GOPROXY, GONOSUMDB and the like), outside of any
// sandbox; that runs no code of a module. Several processes may share it.
type ModuleStore struct{ Dir string }

const fetchWall = 10 * time.Minute

// Module is the source of a module's version. Its hash, as go.sum has it of the zip file, must be hash, each time: what lies
// in the store is not believed.
func (m ModuleStore) Module(ctx context.Context, path, version, hash string) (tare.Tree, error) {
	cache := filepath.Join(m.Dir, "sources")
	work, err := os.MkdirTemp("", "tare-module")
	if err != nil {
		return nil, fmt.Errorf("fetching %s@%s: %w", path, version, err)
	}
	defer os.RemoveAll(work)
	out, err := m.goCommand(ctx, work, cache, "mod", "download", "-json", path+"@"+version)
	var got struct{ Dir, GoMod, Sum, Error string }
	if jerr := json.Unmarshal(out, &got); jerr == nil && got.Error != "" {
		return nil, fmt.Errorf("fetching %s@%s: %s", path, version, got.Error)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching %s@%s: %w", path, version, err)
	}
	if got.Sum != hash {
		return nil, fmt.Errorf("fetching %s@%s: its hash is %s, and the task says %s", path, version, got.Sum, hash)
	}
	t, err := workspace.Read(got.Dir, workspace.ReadLimits{Files: 50_000, Bytes: 1 << 30, FileBytes: 256 << 20, Skip: []string{}})
	if err != nil {
		return nil, fmt.Errorf("fetching %s@%s: %w", path, version, err)
	}
	t = t.Filter(func(f tare.File) bool { return f.Mode.Type() == 0 })
	if sum := moduleHash(path+"@"+version, t); sum != hash {
		return nil, fmt.Errorf("fetching %s@%s: what is kept of it in %s was changed: its hash is %s; remove that directory", path, version, got.Dir, sum)
	}
	if _, ok := t.Lookup("go.mod"); !ok { // of a time before there were any: the go command makes one up
		b, err := os.ReadFile(got.GoMod)
		if err != nil {
			return nil, fmt.Errorf("fetching %s@%s: %w", path, version, err)
		}
		t = t.Overlay(tare.Tree{{Path: "go.mod", Mode: 0o644, Data: b}})
	}
	for i := range t { // the go command keeps them read-only, and who repairs them must be able to write
		t[i].Mode = 0o644
	}
	return t, nil
}

// moduleHash is the hash that go.sum calls h1, of a module's files.
func moduleHash(prefix string, t tare.Tree) string {
	names := make([]string, len(t))
	for i, f := range t {
		names[i] = prefix + "/" + f.Path
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		f, _ := t.Lookup(strings.TrimPrefix(name, prefix+"/"))
		fmt.Fprintf(h, "%x  %s\n", sha256.Sum256(f.Data), name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// Needs fetches what the packages of the trees, and their tests, import from other modules, and says where it is: a module
// cache that can be shown to builds, to which nothing can be added from there. It holds no source of a task's.
func (m ModuleStore) Needs(ctx context.Context, trees ...tare.Tree) (cache string, err error) {
	cache = filepath.Join(m.Dir, "needed")
	for _, t := range trees {
		mark := filepath.Join(m.Dir, "needed-"+string(t.Digest())[len("sha256:"):][:24])
		if _, err := os.Stat(mark); err == nil {
			continue
		}
		if err := m.need(ctx, cache, t); err != nil {
			return "", err
		}
		if err := os.WriteFile(mark, nil, 0o444); err != nil {
			return "", fmt.Errorf("fetching modules: %w", err)
		}
	}
	return cache, os.MkdirAll(cache, 0o755)
}

func (m ModuleStore) need(ctx context.Context, cache string, t tare.Tree) error {
	work, err := os.MkdirTemp("", "tare-module")
	if err != nil {
		return fmt.Errorf("fetching modules: %w", err)
	}
	defer os.RemoveAll(work)
	at := filepath.Join(work, "m")
	if err := workspace.Lay(at, t, workspace.Owner{UID: -1, GID: -1}); err != nil {
		return fmt.Errorf("fetching modules: %w", err)
	}
	if _, err := m.goCommand(ctx, at, cache, "list", "-e", "-deps", "-test", "./..."); err != nil {
		return fmt.Errorf("fetching modules: %w", err)
	}
	return nil
}

// goCommand runs the go command here, and returns what it printed.
func (m ModuleStore) goCommand(ctx context.Context, dir, cache string, args ...string) ([]byte, error) {
	program, err := sandbox.Resolve("go")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWall)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-mod=mod -modcacherw=false", "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return stdout.Bytes(), errors.Join(fmt.Errorf("go %s: %w", args[0], err), errors.New(lastLine(stderr.Bytes())))
	}
	return stdout.Bytes(), nil
}

// modulesAt is where a sandbox shows the modules that a build may need.
const modulesAt = "/srv/modules"

// withModules has the go command find modules in cache, which it cannot change.
func withModules(cache string, env map[string]string) []sandbox.Mount {
	if cache == "" {
		return nil
	}
	env["GOMODCACHE"] = modulesAt
	env["GOFLAGS"] = "-buildvcs=false -mod=mod"
	return []sandbox.Mount{{Host: cache, Guest: modulesAt}}
}
