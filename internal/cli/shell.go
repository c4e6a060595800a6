package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tare"
	"tare/internal/check"
	"tare/internal/sandbox"
	"tare/internal/workspace"
)

// Where the shell finds things, and what bounds it.
const (
	shellWorkspace = "/workspace"
	shellHidden    = "/hidden"
	shellWall      = 12 * time.Hour
	shellOutput    = 1 << 30
)

func (a *app) shell() *cobra.Command {
	var with string
	c := &cobra.Command{
		Use:   "shell TASK",
		Short: "Open a shell in a task's sandbox, to look and to try",
		Long: `shell lays a control of the task into a workspace and opens a shell there, in the sandbox that grading uses: no network, an
unprivileged user, the same limits on memory and processes. The probe is in /hidden. What is done in it is thrown away.
Without a terminal it runs the commands that it is given on standard input.`,
		Example: "  tare shell tickets/bugfix_inventory\n  tare shell tickets/bugfix_inventory --with reference:a+test\n  echo 'python3 -m pytest -q' | tare shell ./my_ticket",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			tasks, err := a.tasks(args)
			if err != nil {
				return err
			}
			if len(tasks) != 1 {
				return usage("shell takes one task; %q is %d", args[0], len(tasks))
			}
			if err := hasWorkspace(tasks[0]); err != nil {
				return err
			}
			if tasks[0], err = a.sourced(c.Context(), tasks[0]); err != nil {
				return err
			}
			tree, err := controlTree(tasks[0], with)
			if err != nil {
				return err
			}
			return a.withRig(c.Context(), func(ctx context.Context, r *rig) error {
				return a.openShell(ctx, r, tasks[0], tree)
			})
		},
	}
	c.Flags().StringVar(&with, "with", "seed", "the control to lay out, by its name in 'tare prove'")
	return c
}

// controlTree is the workspace of the control called name.
func controlTree(t *tare.Task, name string) (tare.Tree, error) {
	for _, c := range t.Controls {
		if c.Name == name {
			return c.Solution(t.Seed), nil
		}
	}
	return nil, usage("%s has no control %q; see 'tare prove %s'", t.ID, name, t.ID)
}

func (a *app) openShell(ctx context.Context, r *rig, task *tare.Task, tree tare.Tree) (err error) {
	runner, err := check.For(task.Runner)
	if err != nil {
		return err
	}
	dir, err := r.sb.NewDir("w-*")
	if err != nil {
		return err
	}
	uid, gid := r.sb.Owner()
	owner := workspace.Owner{UID: uid, GID: gid}
	ws, err := workspace.New(ctx, dir, tree, owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ws.Remove()) }()
	aside, err := r.sb.NewDir("h-*")
	if err != nil {
		return err
	}
	hidden := filepath.Join(aside, "hidden")
	if err := workspace.Lay(hidden, task.Hidden, owner); err != nil {
		return err
	}
	in, forward, err := a.keys()
	if err != nil {
		return err
	}
	defer in.Close()
	argv, env := runner.Command(shellWorkspace, task.Sources)
	more, err := check.Provide(ctx, r.sb, runner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, more.Release()) }()
	maps.Copy(env, more.Env)
	a.note("to run the tests: %s\nthe probe is in %s; exit or Ctrl-D ends", commandLine(argv), shellHidden)
	cmd := sandbox.Cmd{
		Argv: []string{"/bin/sh"}, Dir: shellWorkspace, Env: env, StdinFile: in,
		Mounts: append(more.Mounts, sandbox.Mount{Host: ws.Dir, Guest: shellWorkspace, Writable: true}, sandbox.Mount{Host: hidden, Guest: shellHidden}),
		Limits: sandbox.Limits{Wall: shellWall, Output: shellOutput},
		OnOutput: func(stream int, p []byte) {
			w := a.stdout
			if stream == 2 {
				w = a.stderr
			}
			_, _ = w.Write(p) // a reader that is gone must not end the shell half-way through a command
		},
	}
	if forward == nil {
		return shellExit(r.sb.Run(ctx, cmd))
	}
	// script gives the shell a terminal of the sandbox's own; the real one never gets in.
	cmd.Argv = []string{"/usr/bin/script", "-qec", a.likeTerminal() + "exec /bin/bash --norc", "/dev/null"}
	cmd.Env["TERM"] = envOr("TERM", "dumb")
	cmd.Env["PS1"] = task.ID + " $ "
	restore, err := forward()
	if err != nil {
		return err
	}
	res, err := r.sb.Run(ctx, cmd)
	restore()
	return shellExit(res, err)
}

// likeTerminal gives the terminal inside the size of the real one, as far as that is known.
func (a *app) likeTerminal() string {
	tty, ok := a.stdin.(*os.File)
	if !ok {
		return ""
	}
	columns, rows, err := term.GetSize(int(tty.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return ""
	}
	return fmt.Sprintf("stty columns %d rows %d; ", columns, rows)
}

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine is argv as one would type it.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = w
		if !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// shellExit passes on how the shell ended, as a usage of the rig and not as a grade.
func shellExit(res sandbox.Result, err error) error {
	switch {
	case err != nil:
		return err
	case res.Ended == sandbox.LimitCancelled:
		return exit{exitInterrupted, nil}
	case res.Ended != sandbox.LimitNone:
		return exit{exitFailed, fmt.Errorf("the shell was ended by the limit on %s", res.Ended)}
	case res.Exit != 0 || res.Signal != "":
		return exit{exitFailed, nil}
	}
	return nil
}

// keys is what the shell reads. From a terminal it is a pipe, and forward starts to pass on what is typed, unprocessed, until
// restore is called; from anything else it is that, through a pipe, and forward is nil.
func (a *app) keys() (in *os.File, forward func() (restore func(), err error), err error) {
	in, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	tty, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(tty.Fd())) {
		go func() {
			_, _ = io.Copy(w, a.stdin) // ends with its input, or when the shell has gone
			w.Close()
		}()
		return in, nil, nil
	}
	return in, func() (func(), error) {
		state, err := term.MakeRaw(int(tty.Fd()))
		if err != nil {
			return nil, fmt.Errorf("preparing the terminal: %w", err)
		}
		go func() {
			_, _ = io.Copy(w, tty)
			w.Close()
		}()
		return func() { _ = term.Restore(int(tty.Fd()), state) }, nil
	}, nil
}
