// Package cli is the command line: one file per command, and all the wiring between rooms that may not know each other.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tare"
	"tare/internal/agent"
	"tare/internal/report"
	"tare/internal/sandbox"
	"tare/internal/store"
	"tare/internal/suite"
)

// Exit codes. When several hold, the first of 130, 4, 1, 3 wins.
const (
	exitOK          = 0
	exitFailed      = 1   // something was graded FAIL, or a proof or an expectation does not hold
	exitUsage       = 2   // bad usage or bad input; nothing was run
	exitUnverified  = 3   // nothing failed, but something is UNVERIFIED
	exitRig         = 4   // the rig or the machine could not do the work
	exitInterrupted = 130 // what was finished is kept
)

// An exit ends a command with a code other than success. A nil err means that all has been said.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return exit{exitUsage, fmt.Errorf(format, args...)} }

// An app is one invocation: its streams and the flags that every command has.
type app struct {
	bugs   []string // seeded bugs of simulated platforms, for tests
	server string   // in the place of that of live scenarios
	result string   // where grade also writes the verdict on a vulnerability, as other tools read it
	bridge string   // of tests, in the place of the one beside the program

	live    *liveFlags
	presets presetFlags
	typed   *bufio.Reader // what is typed

	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	colour         bool // stdout is a terminal that wants colour

	policies map[string]agent.Policy // of the arms of an experiment, by their ids
	db       string                  // where runs are kept: "" is SQLite in the state directory
	blobs    string                  // where the database keeps its blobs: "" is where it remembers, else by its side
	writes   bool                    // the command keeps something, so that a store is made where there is none
	adds     bool                    // the command adds to what is kept already, and makes no store
	opened   store.Store             // the store, once somebody asked for it
	priority int                     // of the run
	limits   map[string]int          // of agents and providers
	carried  []store.Suite           // of tasks that are not built in

	format   string
	quiet    bool
	noColor  bool
	state    string
	workdir  string
	inMemory bool // keep workspaces there, where there is room: for a command that knows what it plays
	backend  string
	cold     bool

	adapters *standings // nil: what certificates say of adapters is read each time
}

// Main runs the command line and returns its exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{adapters: &standings{}, live: &liveFlags{}, stdin: stdin, stdout: stdout, stderr: stderr, terminal: isTerminal(stderr)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	err = errors.Join(err, a.closeStore())
	code := exitCode(err)
	var e exit
	if err != nil && !(errors.As(err, &e) && e.err == nil) {
		fmt.Fprintf(stderr, "tare: %s\n", printable(err.Error()))
	}
	return code
}

// exitCode sorts errors: ours are marked where they arise, bad input has types of its own, and what is left is the rig.
func exitCode(err error) int {
	var (
		e    exit
		bad  *suite.Error
		none *sandbox.Unavailable
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &none):
		return exitRig
	case errors.As(err, &bad):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitRig
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tare",
		Short: "Run agents on tasks, grade what they did, and prove that the graders can tell right from wrong",
		Long: `tare runs tool-using and coding agents on tasks, grades what they did, and proves that its own graders can
tell right from wrong before any score is believed.

Exit codes: 0 done; 1 something was graded FAIL or a proof does not hold; 2 bad usage or input, nothing was
run; 3 nothing failed but something is UNVERIFIED; 4 the rig or the machine could not do the work; 130
interrupted, what was finished is kept.`,
		Example:       "  tare demo\n  tare run tickets --agent baseline,advanced\n  tare prove tickets",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.writes, a.adds = keeps(c), adds(c)
			if a.format != "text" && a.format != "json" {
				return usage("--format is text or json, not %q", a.format)
			}
			if a.backend != "bwrap" && a.backend != "process" {
				return usage("--sandbox is bwrap or process, not %q", a.backend)
			}
			if c.Flags().Changed("blobs") && (a.db == filesDB || strings.HasSuffix(a.db, store.Portable)) {
				return usage("--blobs is of a database, and --db %s keeps everything itself", a.db)
			}
			a.colour = isTerminal(a.stdout) && !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
			return nil
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w; see '%s --help'", err, c.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&a.format, "format", "text", "text or json (one document or JSON Lines on stdout)")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no hints")
	f.BoolVar(&a.noColor, "no-color", false, "no colour (NO_COLOR does the same)")
	f.StringVar(&a.state, "state", envOr("TARE_STATE", ".tare"), "directory that keeps runs and proofs (TARE_STATE)")
	f.StringVar(&a.db, "db", os.Getenv("TARE_DB"), "where runs are kept (TARE_DB): postgres://…, sqlite:FILE, or files; default: SQLite in the state directory")
	f.StringVar(&a.blobs, "blobs", os.Getenv("TARE_BLOBS"), "where a database keeps long records (TARE_BLOBS): file:///DIR, s3://BUCKET, gs://BUCKET, azblob://CONTAINER; it remembers the first")
	f.StringVar(&a.workdir, "workdir", os.Getenv("TARE_WORKDIR"), "directory for workspaces while they are in use (TARE_WORKDIR); default /var/tmp/tare-UID, and for proofs /dev/shm/tare-UID where there is room")
	f.StringVar(&a.backend, "sandbox", "bwrap", "bwrap, or process: no isolation, only limits")
	f.BoolVar(&a.cold, "cold", false, "start an interpreter anew for each run, rather than fork one that is kept ready")
	root.AddCommand(a.demo(), a.list(), a.show(), a.run(), a.grade(), a.regrade(), a.judge(), a.review(), a.ledger(), a.prove(), a.canary(), a.diff(), a.experiment(), a.mcp(), a.patchd(), a.mockmodel(), a.new(), a.shell(), a.report(), a.doctor(), a.version(),
		a.workers(), a.ps(), a.pause(), a.resume(), a.cancel(), a.exportRun(), a.importRun(), a.gc())
	strict(root)
	return root
}

// strict makes wrong numbers of arguments and unknown commands bad usage, whatever the command declares.
func strict(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usage("%w; see '%s --help'", err, c.CommandPath())
			}
			return nil
		}
	} else if !c.Runnable() {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q; see '%s --help'", args[0], c.CommandPath())
			}
			return nil
		}
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}

func (a *app) json() bool { return a.format == "json" }

// The width of what is printed: a terminal's own within bounds, and where there is none, what a page takes.
const (
	leastWidth = 60
	mostWidth  = 120
	pageWidth  = 100
)

// widthOf is the columns that there are to write to w.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return pageWidth
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return pageWidth
	}
	return min(max(columns, leastWidth), mostWidth)
}

// note tells a person something on stderr, unless told to be quiet.
func (a *app) note(format string, args ...any) {
	if a.quiet {
		return
	}
	text := fmt.Sprintf(format, args...)
	if a.terminal {
		text = wrapLines(text, widthOf(a.stderr))
	}
	fmt.Fprintf(a.stderr, "%s\n", text)
}

// wrapLines fits text into width columns, and keeps how far each of its lines is indented.
func wrapLines(text string, width int) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		indent := l[:len(l)-len(strings.TrimLeft(l, " "))]
		for _, part := range report.Wrap(l, width-len(indent)) {
			out = append(out, strings.TrimRight(indent+part, " "))
		}
	}
	return strings.Join(out, "\n")
}

// writeJSON writes v as one line of JSON on stdout.
func (a *app) writeJSON(v any) error {
	b, err := tare.Canonical(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", b)
	return err
}

func envOr(key, fallback string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return fallback
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// printable makes untrusted text fit for a terminal: control characters other than newline and tab are shown as escapes.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
