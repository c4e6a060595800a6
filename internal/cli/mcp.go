package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tare"
	"tare/internal/agent"
	"tare/internal/run"
	"tare/internal/tools"
)

// byHandAgent is the agent of an episode that somebody plays over tare mcp.
const byHandAgent = "by-hand"

// byHandWall bounds an episode that is played by hand.
const byHandWall = 24 * time.Hour

// byHand is an agent that lets whoever is at the other end of a connection act, and ends when they leave.
type byHand struct {
	a     *app
	http  string
	left  func() // called when they have left; nil: go on and grade
	err   error  // what kept it from being served
	world served // of the one episode that it plays
}

// served is a world that can be served to whoever connects.
type served interface {
	ServeIO(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
	ListenTCP(ctx context.Context, addr string) (*tools.Listener, error)
	Close() error
}

func (b *byHand) Name() string { return byHandAgent }

func (b *byHand) Play(ctx context.Context, brief tare.Brief, _ agent.World) (agent.Ending, error) {
	if b.left != nil {
		defer b.left()
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if b.http == "" {
		defer b.stay()
		if err := b.world.ServeIO(ctx, io.NopCloser(b.a.stdin), nopCloser{b.a.stdout}); err != nil && ctx.Err() == nil {
			return agent.Ending{Stop: tare.AgentCrash, Detail: err.Error()}, nil
		}
		return agent.Ending{Stop: tare.EndTurn}, nil
	}
	l, err := b.world.ListenTCP(ctx, b.http)
	if err != nil {
		b.err = usage("serving at --http %s: %w", b.http, err)
		return agent.Ending{}, b.err
	}
	b.a.note("%s is served at %s; Ctrl-C ends the episode", brief.Title, l.URL)
	<-ctx.Done()
	return agent.Ending{Stop: tare.EndTurn}, errors.Join(b.world.Close(), l.Close())
}

// stay keeps this program alive when the client, on its way out, ends the server that it started: there is grading to do.
func (b *byHand) stay() {
	if b.left == nil {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (a *app) mcp() *cobra.Command {
	var addr, record string
	c := &cobra.Command{
		Use:   "mcp TASK",
		Short: "Serve a task's world over MCP, on stdio or HTTP",
		Long: `mcp serves the six tools over a fresh workspace of the task, of a vulnerability five and test_patch, or the world of a scenario, to any MCP client. With --record it also writes the
trajectory, and grades the workspace when the client leaves (stdio) or on Ctrl-C (HTTP); the verdict goes to stderr and to
FILE.verdict.json.

The server runs outside any sandbox and its binary holds the answers: for trying things out, not for scores.`,
		Example: "  tare mcp tickets/bugfix_inventory\n  tare mcp tickets/bugfix_inventory --http 127.0.0.1:8321\n  tare mcp tickets/bugfix_inventory --record hand.jsonl\n  tare mcp scenarios/scale_to_three",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			tasks, err := a.tasks(args)
			if err != nil {
				return err
			}
			if len(tasks) != 1 {
				return usage("mcp takes one task; %q is %d", args[0], len(tasks))
			}
			if tasks[0].Category == tare.Fixture {
				return usage("%s is a fixture that tests the grader; it is not shown to agents", tasks[0].ID)
			}
			level := ""
			if tasks[0].Kind == tare.Vuln {
				if level, err = (runFlags{}).helpLevel(tasks); err != nil {
					return err
				}
			}
			return a.withRig(c.Context(), func(ctx context.Context, r *rig) error {
				return a.playByHand(ctx, r, tasks[0], level, addr, record)
			})
		},
	}
	a.bugFlag(c)
	a.serverFlag(c)
	c.Flags().StringVar(&addr, "http", "", "serve streamable HTTP at this address, at /mcp, in place of stdio")
	c.Flags().StringVar(&record, "record", "", "write the trajectory to this file, and grade at the end")
	return c
}

func (a *app) playByHand(ctx context.Context, r *rig, task *tare.Task, level, addr, record string) error {
	w := io.Writer(io.Discard)
	if record != "" {
		f, err := os.OpenFile(record, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return usage("writing --record: %w", err)
		}
		defer f.Close()
		w = f
	}
	r.byHand = &byHand{a: a, http: addr}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if record == "" {
		r.byHand.left = cancel
	}
	job := run.Job{Task: task, Episode: r.episode(task, byHandAgent)}
	job.Episode.Level = level
	job.Episode.Limits.Wall, job.Episode.Limits.Turns = byHandWall, 0 // people take their time
	rec, err := r.play(ctx, job, w)
	if r.byHand.err != nil {
		return r.byHand.err
	}
	if record == "" && errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	entry, err := tare.NewEntry(rec)
	if err != nil {
		return err
	}
	judge := run.Rig{Grader: r.grader, Proof: a.proofOf}
	verdict := run.Result{Job: job, Record: rec, Verdict: judge.Judge(task, rec, entry.Hash)}
	ventry, err := tare.NewEntry(verdict.Verdict)
	if err != nil {
		return err
	}
	if err := os.WriteFile(record+".verdict.json", append(ventry.Bytes, '\n'), 0o644); err != nil {
		return err
	}
	// stdout belongs to the protocol.
	b := *a
	b.stdout, b.colour = a.stderr, a.terminal && a.colour
	return b.showVerdict(verdict)
}
