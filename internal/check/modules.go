package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"tare"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// A ModuleStore keeps in a directory what builds of Go need of other modules. It is filled by the go command, with the settings
// of whoever runs this (GOPROXY, GONOSUMDB and the like), outside of any sandbox; that runs no code of a module, and go.sum
// says what each must be. Several processes may share it.
type ModuleStore struct{ Dir string }

const fetchWall = 10 * time.Minute

var requires = regexp.MustCompile(`(?m)^\s*require\b`)

// Needs fetches what the packages of the trees, and their tests, import from other modules, and says where it is: a module
// cache that can be shown to builds, to which nothing can be added from there. It is "" where the trees need none. Which
// modules are fetched is for the trees to say, so that none may be an agent's.
func (m ModuleStore) Needs(ctx context.Context, trees ...tare.Tree) (cache string, err error) {
	for _, t := range trees {
		if f, ok := t.Lookup("go.mod"); !ok || !requires.Match(f.Data) {
			continue
		}
		cache = filepath.Join(m.Dir, "cache")
		mark := filepath.Join(m.Dir, string(t.Digest())[len("sha256:"):][:24])
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
	return cache, nil
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
	if err := m.goCommand(ctx, at, cache, "list", "-e", "-deps", "-test", "./..."); err != nil {
		return fmt.Errorf("fetching modules: %w", err)
	}
	return nil
}

// goCommand runs the go command here.
func (m ModuleStore) goCommand(ctx context.Context, dir, cache string, args ...string) error {
	program, err := sandbox.Resolve("go")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWall)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("go %s: %w: %s", args[0], err, lastLine(stderr.Bytes()))
	}
	return nil
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
