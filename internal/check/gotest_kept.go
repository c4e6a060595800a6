package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare"
	"tare/internal/sandbox"
)

// Binaries that have been built are kept for as long as the sandbox is open, by all that they were built from: to link one
// costs more than to run it, and the trees of a proof that are equal, above all those of its two passes, are many. What is
// kept was made by the go command in a sandbox in which no code of any tree ran, and is shown read-only to those that run.
// Only the building is spared: every run is made, in a process, a sandbox and a directory of its own.

const (
	goKept    = "go-kept" // below the sandbox's state directory
	maxGoKept = 150       // binaries, of some three megabytes each; the one used longest ago goes first
	goKeptBin = "binary"
	goKeptAs  = "made.json" // comes last, so that a directory with it is whole
)

// A goMade says how a binary was made, and what is the grader's own in it.
type goMade struct {
	Argv      []string `json:"argv"`
	Sentinels []string `json:"sentinels,omitempty"`
}

// keptDir is where a binary is kept that is built of b for the purpose what; "" where none may be kept, since code of trees
// could write there.
func (b *goBench) keptDir(what ...string) (string, error) {
	if b.sb.Isolation() == sandbox.IsolationProcess {
		return "", nil
	}
	all, err := json.Marshal([]any{b.tools.dir, b.guest, b.steered, b.modules, b.disk.Digest(), b.view.packages, tare.Tree(b.view.files).Digest(), what})
	if err != nil {
		return "", fmt.Errorf("naming a build: %w", err)
	}
	sum := sha256.Sum256(all)
	return filepath.Join(b.sb.StateDir(), goKept, hex.EncodeToString(sum[:16])), nil
}

// reuse puts the binary that is kept in dir into out, under name. It is false where there is none.
func (b *goBench) reuse(dir, name string) (made goMade, ok bool) {
	if dir == "" {
		return made, false
	}
	text, err := os.ReadFile(filepath.Join(dir, goKeptAs))
	if err != nil || json.Unmarshal(text, &made) != nil {
		return made, false
	}
	now := time.Now()
	os.Chtimes(dir, now, now) // it is not the oldest now; when that fails it is built again some day
	// a link stays when what is kept is cleared away meanwhile
	return made, os.Link(filepath.Join(dir, goKeptBin), filepath.Join(b.dir, "out", name)) == nil
}

// keep keeps the binary that stands in out under name, unless another run has done so.
func (b *goBench) keep(dir, name string, made goMade) error {
	if dir == "" {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping a binary: %w", err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		return fmt.Errorf("keeping a binary: %w", err)
	}
	work, err := os.MkdirTemp(parent, "new")
	if err != nil {
		return fmt.Errorf("keeping a binary: %w", err)
	}
	binary := filepath.Join(b.dir, "out", name)
	for _, do := range []func() error{
		func() error { return os.Chmod(binary, 0o555) },
		func() error { return os.Lchown(binary, os.Geteuid(), os.Getegid()) },
		func() error { return os.Link(binary, filepath.Join(work, goKeptBin)) },
		func() error { return os.WriteFile(filepath.Join(work, goKeptAs), text, 0o400) },
	} {
		if err := do(); err != nil {
			return errors.Join(fmt.Errorf("keeping a binary: %w", err), os.RemoveAll(work))
		}
	}
	if err := os.Rename(work, dir); err != nil { // there is one by now
		return os.RemoveAll(work)
	}
	return forgetOldest(parent, maxGoKept)
}

// forgetOldest removes all but the most directories below parent that were used last.
func forgetOldest(parent string, most int) error {
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) <= most {
		return err
	}
	type used struct {
		name string
		at   time.Time
	}
	var all []used
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // another run may have removed it
			all = append(all, used{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b used) int { return a.at.Compare(b.at) })
	for _, u := range all[:max(0, len(all)-most)] {
		if err := os.RemoveAll(filepath.Join(parent, u.name)); err != nil {
			return fmt.Errorf("clearing binaries away: %w", err)
		}
	}
	return nil
}
