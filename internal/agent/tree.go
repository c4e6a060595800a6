package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tare"
	"tare/internal/workspace"
)

type treeAgent struct {
	name string
	tree tare.Tree
	err  error // of making the tree ready
}

// Tree returns an agent that makes the workspace hold exactly t, apart from .git: what t lacks is deleted, and what it has
// comes with its mode, links as links, bytes as bytes. It uses no tool. That is how controls and finished solutions are
// played.
func Tree(name string, t tare.Tree) Agent {
	// .git belongs to the workspace; a solution that was read from a checkout may bring its own.
	t, err := workspace.Canonical(t.Without(".git"))
	return treeAgent{name, t, err}
}

func (a treeAgent) Name() string { return a.name }

func (a treeAgent) Play(ctx context.Context, _ tare.Brief, w World) (Ending, error) {
	if a.err != nil {
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, a.err)
	}
	if ctx.Err() != nil {
		return interrupted(ctx), nil
	}
	if err := a.put(w); err != nil {
		return Ending{}, fmt.Errorf("playing %s: %w", a.name, err)
	}
	return Ending{Stop: tare.EndTurn}, nil
}

// put lays the tree out beside the workspace and moves it in, so that nothing in the workspace can lead a write astray.
func (a treeAgent) put(w World) (err error) {
	dir, err := w.Sandbox.NewDir("s-*")
	if err != nil {
		return err
	}
	stage := &workspace.Workspace{Dir: dir}
	defer func() { err = errors.Join(err, stage.Remove()) }()
	uid, gid := w.Sandbox.Owner()
	laid := filepath.Join(dir, "w")
	if err := workspace.Lay(laid, a.tree, workspace.Owner{UID: uid, GID: gid}); err != nil {
		return err
	}
	old, err := os.ReadDir(w.Dir)
	if err != nil {
		return err
	}
	for _, e := range old {
		if e.Name() == ".git" {
			continue
		}
		if err := (&workspace.Workspace{Dir: filepath.Join(w.Dir, e.Name())}).Remove(); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(laid)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(laid, e.Name()), filepath.Join(w.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
