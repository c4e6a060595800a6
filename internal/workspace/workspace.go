// Package workspace gives each episode a directory of its own, finds out what became of it, and throws it away.
//
// Everything is bytes: no file is ever decoded, no line ending changed, no symbolic link followed. What an agent did
// is found by comparing its directory with the tree that was laid out, which is kept in memory and not in the agent's
// reach, so it makes no difference what it did to its .git. Git never runs in a directory that an agent could write:
// the first commit is written by this package itself, before the agent starts, and patches are made and applied by
// git in bare repositories of our own, where no file is checked out and no attribute, driver or hook of the tree is
// looked at.
//
// LeakScan proves that an agent cannot reach the material that it is graded with.
package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tare"
)

// Owner is who must own what is laid out, so that a sandbox's payload may write it. {-1, -1} leaves it as it is.
type Owner struct{ UID, GID int }

// Nobody in particular: what is laid out belongs to whoever runs the program.
var asIs = Owner{-1, -1}

// A Workspace is a directory that was laid out for one episode, and the tree that was laid out there.
type Workspace struct {
	Dir    string
	Base   tare.Tree  // what was laid out, in its canonical form; not to be changed
	Limits ReadLimits // for Snapshot and Changes; the zero value stands for the defaults
}

// New lays base out in dir, which must be empty or not there, and adds a .git with one commit of it. Author, date and
// message of the commit are the same for every task. All of it belongs to o. A base with a path called .git, in upper
// or lower case and at any depth, is refused, as is one that Canonical refuses.
func New(ctx context.Context, dir string, base tare.Tree, o Owner) (*Workspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	base, err := Canonical(base)
	if err != nil {
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	for _, f := range base {
		if inDotGit(f.Path) {
			return nil, fmt.Errorf("making a workspace: %q would take the place of a repository's own files", f.Path)
		}
	}
	repo, err := firstCommit(base)
	if err != nil {
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	if err := Lay(dir, append(repo, base...), o); err != nil {
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	return &Workspace{Dir: dir, Base: base}, nil
}

// Snapshot reads the directory as it now is, without anything called .git, at any depth. An error for which LeftOut
// returns nil comes with a tree that holds everything else. What the base has, and the files beside it, are read first.
func (w *Workspace) Snapshot() (tare.Tree, error) {
	l := w.Limits
	l.First = w.Base
	return Read(w.Dir, l)
}

// Changes lists what differs between the base and the directory as it now is. A file that had to be left out of the
// snapshot counts as deleted; as with Snapshot, the error then says so and the list is good for the rest.
func (w *Workspace) Changes() ([]tare.Change, error) {
	now, err := w.Snapshot()
	if _, bad := LeftOut(err); bad != nil {
		return nil, bad
	}
	return w.Base.Changes(now), err
}

// Remove deletes the directory with all that is in it, also below directories that were made read-only or that are
// deeper than a path can say.
func (w *Workspace) Remove() error {
	if os.RemoveAll(w.Dir) == nil {
		return nil
	}
	if err := dismantle(w.Dir); err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	if err := os.RemoveAll(w.Dir); err != nil {
		return fmt.Errorf("removing a workspace: %w", err)
	}
	return nil
}

// dismantle empties dir. It moves each directory that it finds in another to the top and so never goes deeper than
// two levels, however deep the tree is: RemoveAll holds a descriptor for each level, and runs out of them.
func dismantle(dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	todo, err := strip(root, ".")
	for n := 0; err == nil && len(todo) > 0; {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var inner []string
		if inner, err = strip(root, d); err != nil {
			break
		}
		for _, from := range inner {
			to := fmt.Sprintf("tare-remove-%d", n)
			for n++; taken(root, to); n++ {
				to = fmt.Sprintf("tare-remove-%d", n)
			}
			if err := root.Rename(from, to); err != nil {
				return err
			}
			todo = append(todo, to)
		}
		err = root.Remove(d)
	}
	return err
}

func taken(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return err == nil
}

// strip deletes all in the directory d but directories, which it makes writable and returns.
func strip(root *os.Root, d string) ([]string, error) {
	f, err := root.Open(d)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		p := filepath.Join(d, e.Name())
		if !e.IsDir() {
			if err := root.Remove(p); err != nil {
				return nil, err
			}
			continue
		}
		if err := root.Chmod(p, 0o700); err != nil {
			return nil, err
		}
		dirs = append(dirs, p)
	}
	return dirs, nil
}
