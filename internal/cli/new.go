package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/check"
	"tare/internal/suite"
	"tare/internal/workspace"
)

func (a *app) new() *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Make a task", Example: "  tare new ticket my_ticket"}
	c.AddCommand(a.newTicket())
	return c
}

func (a *app) newTicket() *cobra.Command {
	var commit, repo, title, runner string
	c := &cobra.Command{
		Use:   "ticket DIR",
		Short: "Make the folder of a ticket, from nothing or from a commit that fixed something",
		Long: `ticket makes a folder in the form of docs/tasks.md. With --from-commit the seed is the commit's parent; what the commit
changed below the sources becomes reference a, and the rest of it the regression test. What is left to write is marked TO WRITE, and the
folder is no task until that is done: 'tare list DIR' names what is missing, with its place.`,
		Example: "  tare new ticket my_ticket\n  tare new ticket my_ticket --from-commit 3f2a9c1 --repo ../shop\n  tare new ticket my_ticket --runner gotest",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := args[0]
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				return usage("%s is there already", dir)
			}
			if _, err := check.For(runner); err != nil {
				return exit{exitUsage, err}
			}
			d := suite.Draft{Title: title, Runner: runner}
			if d.Title == "" {
				d.Title = strings.ReplaceAll(filepath.Base(dir), "_", " ")
			}
			if commit != "" {
				var err error
				if d, err = a.draftFrom(c.Context(), d, repo, commit); err != nil {
					return err
				}
			}
			folder, err := suite.Scaffold(d)
			if err != nil {
				return err
			}
			if err := workspace.Lay(dir, folder, workspace.Owner{UID: -1, GID: -1}); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s\n", dir)
			a.note("what is left to write is marked TO WRITE, and 'tare list %s' names it with its place; once that finds nothing more, 'tare shell %s' opens the task's sandbox and 'tare prove %s' plays its controls", dir, dir, dir)
			return nil
		},
	}
	c.Flags().StringVar(&commit, "from-commit", "", "the commit that fixed the bug")
	c.Flags().StringVar(&repo, "repo", ".", "the repository of the commit")
	c.Flags().StringVar(&runner, "runner", "pytest", "what runs its tests: pytest or gotest")
	c.Flags().StringVar(&title, "title", "", "one line; default: the folder's name")
	return c
}

// draftFrom reads a commit and its parent, and lists the tests of the parent.
func (a *app) draftFrom(ctx context.Context, d suite.Draft, repo, commit string) (suite.Draft, error) {
	var err error
	if d.Fixed, err = workspace.Commit(ctx, repo, commit); err != nil {
		return d, exit{exitUsage, err}
	}
	if d.Seed, err = workspace.Commit(ctx, repo, commit+"^"); err != nil {
		return d, exit{exitUsage, err}
	}
	err = a.withRig(ctx, func(ctx context.Context, r *rig) error {
		runner, err := check.For(d.Runner)
		if err != nil {
			return err
		}
		nodes, broken, err := runner.Tests(ctx, r.sb, d.Seed)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			d.Visible = append(d.Visible, n.ID)
		}
		if len(broken) > 0 {
			a.note("these test files cannot be read, and their tests are not listed: %s", strings.Join(broken, ", "))
		}
		return nil
	})
	return d, err
}
