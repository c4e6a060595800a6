// Package sandbox runs untrusted commands over directories: bounded in time, memory and output, without a network or
// with named forwards only, and honest about how well each run was isolated.
//
// There are two backends. "bwrap" puts a command into namespaces of its own, through bubblewrap: a read-only system, a
// private /tmp, /proc, /dev and HOME, no network, an unprivileged host uid even when the caller is root. "process" gives
// no isolation, only limits and the promise that nothing is left running; it is used only when it is asked for by name.
// What a command did is always a [Result]. An error from Run means that the sandbox itself failed, which says nothing
// about the command.
package sandbox

import (
	"context"
	"fmt"
	"os"
	"time"
)

// A Sandbox runs untrusted commands. Its methods may be called from several goroutines.
type Sandbox interface {
	// Run runs one command and returns when its whole process tree is dead. An error means that the sandbox failed;
	// what the command did, a limit that it met or a cancelled ctx included, is in the Result.
	Run(ctx context.Context, cmd Cmd) (Result, error)
	// Isolation names what stands between the command and the host; see the Isolation constants.
	Isolation() string
	// Owner is the host identity that the command runs as, and so who must own what it may write.
	Owner() (uid, gid int)
	// StateDir is the directory below which every writable tree must lie. The owner can pass through it, not list it.
	StateDir() string
	// LastingDir is the caller's own directory for what is made once and used by later programs too. Nothing in it is removed at
	// the end, and no command can write to it where there is isolation.
	LastingDir() string
	// NewDir makes a directory below StateDir for the owner, mode 0700. The pattern is that of [os.MkdirTemp]; the
	// command can read the resulting name in /proc/self/mountinfo, so it must say nothing.
	NewDir(pattern string) (string, error)
	// Keep is a directory below StateDir that fill makes when it is first asked for by that name, and that stays until
	// Close. It belongs to the caller, so that no command can write to it where there is isolation.
	Keep(name string, fill func(dir string) error) (string, error)
	// Close removes all that this Sandbox made below StateDir.
	Close() error
}

// How a run was isolated.
const (
	// IsolationBwrap is bubblewrap in a user namespace, with further user namespaces disabled.
	IsolationBwrap = "bwrap"
	// IsolationBwrapSeccomp is the same where bubblewrap cannot disable user namespaces (older than 0.8, or setuid), so
	// that only the seccomp filter refuses them.
	IsolationBwrapSeccomp = "bwrap-seccomp"
	// IsolationBwrapRoot is bubblewrap started by root without a user namespace, on a machine that refuses them;
	// privileges are dropped inside, and a seccomp filter refuses new namespaces.
	IsolationBwrapRoot = "bwrap-root"
	// IsolationProcess is limits and clean-up only: the command sees the host's files, processes and network.
	IsolationProcess = "process"
)

// Options say how to open a Sandbox.
type Options struct {
	Backend   string // "bwrap" (also when empty) or "process"
	StateRoot string // where state is kept; default /var/tmp/tare-<uid>
	InMemory  bool   // without a StateRoot: keep in memory what does not last, where TempDir is there. For who knows what will run.
	Bridge    string // path of the tare-bridge binary; only runs with forwards need it
	Cold      bool   // keep no residents: each command starts from nothing
}

// Unavailable says that this machine cannot run the sandbox that was asked for.
type Unavailable struct {
	Reason string // what is missing or refused
	Mend   string // one line that mends it
}

func (u *Unavailable) Error() string { return "sandbox unavailable: " + u.Reason }

// A Cmd is a command to run in a sandbox.
type Cmd struct {
	// Argv is the command. A name without a slash is looked up in the PATH inside; one that is not found ends with
	// status 127.
	Argv []string
	// Dir is where it starts, as a path inside; HOME when empty.
	Dir string
	// Env is its environment. Nothing is inherited; HOME, PATH, LANG and TMPDIR have defaults. Names are letters,
	// digits and underscores.
	Env    map[string]string
	Mounts []Mount
	Stdin  []byte
	// StdinFile, when set, is handed over as standard input in place of Stdin: the reading end of a pipe, for a command
	// that somebody types to. It stays the caller's. Never a terminal: a command could push keys into it.
	StdinFile *os.File
	// Extra are descriptors on which the command reports results: 3, 4, … in order, at most [MaxExtra].
	Extra    []Extra
	Forwards []Forward
	Limits   Limits
	// Warm, when set, lets the command begin in a fork of a resident that has loaded what it needs, where the backend can
	// isolate that as well as a start from nothing; elsewhere Argv is started as it is. What the command finds and does is
	// the same either way.
	Warm *Warm
	// OnOutput, when set, is handed what is kept of stdout (1) and stderr (2) as it arrives, one call at a time. It must
	// not keep p.
	OnOutput func(stream int, p []byte)
}

// A Warm says how to start the resident that a command forks from. Commands with equal values share one.
type Warm struct {
	// Argv starts the resident: a Python program that loads what it likes, with [ResidentDir] on its path imports
	// tare_resident, and calls its serve(3). That returns once for each command, in a process that is the command's own, with
	// the command's whole Argv; the program then goes on as if it had just been started so. It must never execute anything
	// of a command's before that, and it sees the mounts of Warm only.
	Argv   []string
	Env    map[string]string
	Mounts []Mount  // read-only
	Dirs   []string // that it finds too, empty
}

// An Aheader is a Sandbox that can start residents before there is a command for them, and does so while the caller goes on.
type Aheader interface{ Ahead(w *Warm) }

// ResidentDir is where a resident finds the module tare_resident.
const ResidentDir = "/run/tare"

// MaxExtra is the largest number of extra result descriptors of one command.
const MaxExtra = 6

// A Mount shows a host file or directory inside. Backend process has no mounts: there, Guest paths in Argv, Dir and
// the values of Env are replaced by the host's, and nothing is read-only.
type Mount struct {
	Host, Guest string
	Writable    bool
}

// An Extra is one result descriptor; more than Max bytes on it end the command (default 1 MiB).
type Extra struct {
	Name string
	Max  int64
}

// A Forward makes 127.0.0.1:Port of the sandbox, or the path Path, lead to a Unix socket of the host: one of the two is set.
// A socket that lies below StateDir is handed to the owner; another must already be open to it. At a path it can be neither
// moved nor replaced. Backend process replaces the path as it does those of mounts.
type Forward struct {
	Port   int
	Path   string
	Socket string
}

// Limits bound a run. A field that is zero has its default, never "no limit"; of Patience there is none then.
type Limits struct {
	Wall      time.Duration // default 60 s
	Patience  time.Duration // is added to Wall for time that the command waited for a processor which others had; a run that uses it up is an error
	CPU       time.Duration // of all processes together; default: the wall limit times two
	Processes int           // processes and threads; default 256
	FileSize  int64         // bytes in any one file; default 256 MiB
	Output    int64         // bytes of stdout and stderr together; default 8 MiB
	Memory    int64         // bytes; default 2 GiB
}

// Defaults of Limits.
const (
	DefaultWall      = 60 * time.Second
	DefaultProcesses = 256
	DefaultFileSize  = 256 << 20
	DefaultOutput    = 8 << 20
	DefaultMemory    = 2 << 30
	DefaultExtra     = 1 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Wall <= 0 {
		l.Wall = DefaultWall
	}
	if l.CPU <= 0 {
		l.CPU = 2 * l.Wall
	}
	if l.Processes <= 0 {
		l.Processes = DefaultProcesses
	}
	if l.FileSize <= 0 {
		l.FileSize = DefaultFileSize
	}
	if l.Output <= 0 {
		l.Output = DefaultOutput
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	return l
}

// A Limit names what ended a command.
type Limit string

// What can end a command before it ends by itself.
const (
	LimitNone      Limit = ""
	LimitWall      Limit = "wall"
	LimitCPU       Limit = "cpu"
	LimitProcesses Limit = "processes"
	LimitFileSize  Limit = "file_size"
	LimitOutput    Limit = "output" // stdout and stderr, or an extra descriptor
	LimitMemory    Limit = "memory" // also when only a child of the command was killed for it
	LimitCancelled Limit = "cancelled"
)

// A Result is what a command did.
type Result struct {
	// Exit is the exit status: 128+N after signal N, -1 when the command was never started.
	Exit int
	// Signal names the signal that ended the command ("SIGSEGV"), or is empty. Bubblewrap reports signal N as status
	// 128+N, so under it a command that exits with such a status counts as signalled. A command can do either to itself.
	Signal string
	// Ended is the limit that ended the command, or empty. LimitFileSize is set when SIGXFSZ ended it; a program that
	// ignores that signal sees an error from write and decides for itself.
	Ended Limit
	Wall  time.Duration
	CPU   time.Duration // user and system time of the whole tree, bubblewrap's own few milliseconds included
	// PeakMemory in bytes: exact with a cgroup, otherwise the highest sample (0 when the run was shorter than one).
	PeakMemory     int64
	Stdout, Stderr Bytes
	Extra          []Bytes // as Cmd.Extra
	Isolation      string
	Warm           bool // it was forked from a resident
	// MemoryBy says what bounded the memory: "cgroup2", "cgroup1", or "none", where a sampler watches private pages and
	// a quick allocation can pass the limit for some tens of milliseconds.
	MemoryBy string
}

// Bytes is bounded output.
type Bytes struct {
	Data      []byte // the first bytes, as they came
	Total     int64  // how many there were until the command ended
	Truncated bool   // Total is more than Data holds
}

// A Finding is one thing that Doctor tried.
type Finding struct {
	Name   string
	OK     bool
	Detail string // what was seen
	Mend   string // one line that mends it, when it is not OK
}

// Open readies a sandbox. The error is an [*Unavailable] when the machine cannot provide it.
func Open(ctx context.Context, o Options) (Sandbox, error) {
	switch o.Backend {
	case "", "bwrap":
		return openBwrap(ctx, o)
	case "process":
		return openProcess(ctx, o)
	}
	return nil, fmt.Errorf("opening sandbox: unknown backend %q", o.Backend)
}
