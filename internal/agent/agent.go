// Package agent plays episodes. An agent is shown a Brief and handed a World, and knows nothing of how it will be graded:
// this package may import neither the suite nor anything that judges, and the solutions that scripted agents carry out
// come to them as data.
package agent

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"tare"
	"tare/internal/sandbox"
)

// A World is what an agent acts through.
type World struct {
	Socket  string            // Unix socket at which the world's tools are served, MCP over HTTP below /mcp
	Mounts  []sandbox.Mount   // what such an agent finds there besides: a toolchain
	Env     map[string]string // and the environment that goes with it
	Kept    string            // host directory for an agent that keeps one of its own between episodes; "" for none
	Patch   *Patch            // of a vulnerability: what else is served; nil elsewhere
	Dir     string            // host path of the workspace, for agents that edit the directory
	Sandbox sandbox.Sandbox   // where an agent of others' making runs

	// What an agent that asks a model is to tell of, as it happens; the time of it is whoever hears it to say. May be nil.
	OnTurn     func(tare.ModelTurn)
	OnApproval func(tare.Approval)
}

// A Patch is what the world of a vulnerability serves beside its tools.
type Patch struct {
	Socket string // of test_patch, MCP over HTTP below /mcp
	Daemon string // Unix socket of the daemon, its agents' side
	Logs   string // host directory of the logs that are too long for an answer
}

// An Ending says how an agent ended.
type Ending struct {
	Stop   tare.StopReason
	Detail string      // of the stop: an exit status, an error
	Final  string      // the agent's last message, bounded
	Said   *tare.Said  // of a command: all that it said
	Usage  *tare.Usage // nil: unknown

	Outside *tare.Outside // of an agent of others' making
}

// An Agent plays one episode at a time in each World it is handed, and several at once in different ones.
//
// Play returns when nothing that the agent started is alive. Whatever the agent did is in the Ending, a limit that ctx
// set included; an error means that something of ours failed, which says nothing about the agent.
type Agent interface {
	Name() string
	Play(ctx context.Context, brief tare.Brief, w World) (Ending, error)
}

// An Exposer is an Agent of others' making, which reads more than its workspace. What it exposes must be shown to hold no
// answer before it plays.
type Exposer interface {
	Agent
	Exposes(brief tare.Brief) Exposure
}

// A Keeper is an Agent that keeps a directory of its own between episodes, as programs with a cache do.
type Keeper interface {
	Agent
	Keeps() bool
}

// An Exposure is what an agent can read besides its workspace.
type Exposure struct {
	Dirs []string          // host directories
	Env  map[string]string // its environment
	Args []string          // its command line
}

// MaxFinal bounds an agent's last message, in bytes; of a longer one the end is kept.
const MaxFinal = 16 << 10

const timeUp = "the time for the episode is up"

// interrupted is the ending of an agent whose ctx ended.
func interrupted(ctx context.Context) Ending {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Ending{Stop: tare.WallLimit, Detail: timeUp}
	}
	return Ending{Stop: tare.Cancelled, Detail: "cancelled"}
}

// bounded is the end of a last message, valid UTF-8 and at most MaxFinal bytes.
func bounded(b []byte) string {
	if len(b) > MaxFinal {
		b = b[len(b)-MaxFinal:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\ufffd"))
	if len(s) > MaxFinal { // a replacement is longer than what it replaces
		s = strings.ToValidUTF8(s[len(s)-MaxFinal:], "")
	}
	return s
}
