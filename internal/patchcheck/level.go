// Package patchcheck lets an agent that repairs a vulnerability check its work while it runs, and no further than its level
// of help allows: the tool test_patch over MCP, and a daemon with one socket for agents and one for whoever grades.
//
// A [Checker] holds the one tree that is checked. Every check is of a snapshot: it is taken once, when a call comes, and
// what is built of it belongs to that call, so that two calls never mix builds. A call that comes while a run of the same
// tree is under way joins it. What a check finds is for its [Checks] to say; this package knows in which order checks are
// made, where they stop, what an agent may know of them and in which words.
//
// Three things are kept apart: a check that the tree does not pass is a result; a request for what the level withholds is
// refused; a failure of ours is the sentence that says so, and its cause goes to Config.OnProblem and to nobody else.
package patchcheck

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Level says how much an agent may check while it works. The final grade does not depend on it.
type Level int

// Levels, from the most help to none.
const (
	FullAssistance Level = iota
	NoIntentTest
	NoFutureTest
	BuildOnly
	NoBuild
)

// DefaultLevel is the level where none is chosen.
const DefaultLevel = NoFutureTest

// Variables of the environment.
const (
	LevelVariable   = "SSE_DIFFICULTY"
	TimeoutVariable = "SSE_MCP_TIMEOUT"
	LogDirVariable  = "MCP_LOG_DIR"
)

// A LevelError says that a level is none.
type LevelError struct{ Got string }

func (e *LevelError) Error() string {
	return fmt.Sprintf("%s must be an integer from 0 to 4, got %s", LevelVariable, quoted(e.Got))
}

func quoted(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// ParseLevel reads a level. There is no leniency: whoever starts a server with a level that is none wants to be told so
// before an agent plays at another.
func ParseLevel(text string) (Level, error) {
	if len(text) != 1 || text[0] < '0' || text[0] > '4' {
		return 0, &LevelError{text}
	}
	return Level(text[0] - '0'), nil
}

// LevelFrom reads the level from an environment, as os.LookupEnv gives it: unset is the default, empty is an error.
func LevelFrom(lookup func(string) (string, bool)) (Level, error) {
	text, ok := lookup(LevelVariable)
	if !ok {
		return DefaultLevel, nil
	}
	return ParseLevel(text)
}

// DefaultTimeout is how long servers may take to answer where the environment does not say.
const DefaultTimeout = 300 * time.Second

// TimeoutFrom reads how long servers may take to answer, in whole seconds, from an environment.
func TimeoutFrom(lookup func(string) (string, bool)) (time.Duration, error) {
	text, ok := lookup(TimeoutVariable)
	if !ok {
		return DefaultTimeout, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 24*3600 {
		return 0, fmt.Errorf("%s must be a number of seconds from 1 to %d, got %s", TimeoutVariable, 24*3600, quoted(text))
	}
	return time.Duration(n) * time.Second, nil
}

// LogDirFrom reads the directory of long logs from an environment.
func LogDirFrom(lookup func(string) (string, bool)) string {
	if dir, ok := lookup(LogDirVariable); ok && dir != "" {
		return dir
	}
	return DefaultLogDir
}

// Environment is the environment of this program, for the functions above.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }

var levelNames = [...]string{"FULL_ASSISTANCE", "NO_INTENT_TEST", "NO_FUTURE_TEST", "BUILD_ONLY", "NO_BUILD"}

// String is the name of the level: NO_FUTURE_TEST.
func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return "level " + strconv.Itoa(int(l))
	}
	return levelNames[l]
}

// A Kind is one of the four checks.
type Kind int

// Checks, in the order in which they are made.
const (
	Build Kind = iota
	PoCs
	IntentTests
	FunctionalTests
)

var kinds = [...]Kind{Build, PoCs, IntentTests, FunctionalTests}

var kindNames = [...]string{"build", "PoCs", "intent tests", "functional tests"}

func (k Kind) String() string { return kindNames[k] }

// lastLevels says up to which level each check is there.
var lastLevels = [...]Level{Build: BuildOnly, PoCs: NoIntentTest, IntentTests: FullAssistance, FunctionalTests: NoFutureTest}

// Enables reports whether an agent at this level may make a check.
func (l Level) Enables(k Kind) bool { return l >= FullAssistance && l <= lastLevels[k] }

// Withheld lists the checks that the level withholds.
func (l Level) Withheld() []Kind {
	var out []Kind
	for _, k := range kinds {
		if !l.Enables(k) {
			out = append(out, k)
		}
	}
	return out
}
