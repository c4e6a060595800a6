package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare"
	"tare/internal/suite"
	"tare/internal/workspace"
	"tare/suites"
)

// builtinCanaries is the name of the suite of canaries that the binary holds, and canaryFile the manifest of a folder.
const (
	builtinCanaries = "canaries"
	canaryFile      = "canary.yaml"
)

// canaries loads the manifest that arg names: the built-in one, a file, or a folder that holds a canary.yaml. dir is where a
// manifest on disk lies.
func (a *app) canaries(ctx context.Context, arg string) (c *suite.Canaries, dir string, err error) {
	apply := func(base tare.Tree, patch []byte) (tare.Tree, error) { return workspace.Apply(ctx, base, patch) }
	if arg == builtinCanaries {
		folder, err := suite.UnpackFolder(suites.Canaries())
		if err != nil {
			return nil, "", err
		}
		src, err := suite.CanariesIn(folder, builtinCanaries, canaryFile, apply)
		if err != nil {
			return nil, "", err
		}
		c, err = suite.LoadCanaries(src)
		return c, "", err
	}
	file := arg
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		file = filepath.Join(arg, canaryFile)
	}
	text, err := workspace.ReadFile(file, 1<<20)
	if err != nil {
		return nil, "", usage("reading the manifest: %w; there is also the built-in one, %s", err, builtinCanaries)
	}
	dir, err = filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, "", err
	}
	name := filepath.Base(dir)
	if !namesSuite(name) || name == builtinCanaries { // whose name says that they are the built-in ones
		name = "local"
	}
	c, err = suite.LoadCanaries(suite.CanarySource{
		Name: name, Dir: filepath.Dir(file), File: filepath.Base(file), Text: text, Apply: apply,
		Open:    func(path string) ([]byte, error) { return nextTo(dir, path) },
		Fixture: func(repo string) (tare.Tree, error) { return a.fixture(ctx, dir, repo) },
	})
	return c, dir, err
}

// namesSuite reports whether a folder's name can be the first part of an id.
func namesSuite(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" && name[0] != '.' && name[0] != '-' && name[0] != '_'
}

// nextTo reads a file that lies in the manifest's folder.
func nextTo(dir, path string) ([]byte, error) {
	b, err := workspace.ReadFile(filepath.Join(dir, filepath.FromSlash(path)), workspace.MaxPatch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no such file")
	}
	return b, err
}

// fixture takes a fixture: of a repository its last commit, which must be all that is there; another folder as it lies.
func (a *app) fixture(ctx context.Context, dir, repo string) (tare.Tree, error) {
	at := filepath.FromSlash(repo)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if info, err := os.Stat(at); err != nil {
		return nil, bare(err)
	} else if !info.IsDir() {
		return nil, errors.New("it is no folder")
	}
	if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
		a.note("fixture %s is no repository: it is taken as it lies", printable(repo))
		return readWhole(at)
	}
	if _, err := git(ctx, at, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err != nil {
		return nil, errors.New("its repository has no commit: commit what the fixture is")
	}
	dirty, err := git(ctx, at, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	if lines := strings.Split(strings.TrimSpace(dirty), "\n"); lines[0] != "" {
		return nil, fmt.Errorf("it is dirty: %s; commit or remove what differs, since it is the last commit that is sent", clip(strings.Join(slices.Concat(lines[:min(3, len(lines))]), ", "), 200))
	}
	return workspace.Commit(ctx, at, "HEAD")
}

// git asks the caller's own repository at dir.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
