package check

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tare/internal/sandbox"
)

// A command that SIGKILL or SIGTERM ended may have done it to itself, or have been in the way of somebody who looked for
// memory. The first is a fact about the tree and the second is none, and nothing in the ending tells them apart. So the
// command is run again, on fresh trees: what ends in this way each time, having said as much, is the tree's doing; what
// once comes to another end is taken as that; and what ends at different places is no evidence of anything.
const (
	insistTries = 4
	insistTime  = 30 * time.Second // of all tries but the first two
)

// insist has once run a command until its ending can be told from an accident.
func insist(ctx context.Context, once func() (answer, error)) (answer, error) {
	began := time.Now()
	said := -1
	for try := 1; ; try++ {
		a, err := once()
		if err != nil || !a.perhapsKilled() {
			return a, err
		}
		switch n := bytes.Count(a.report, []byte("\n")); {
		case said >= 0 && n != said:
			return a, fmt.Errorf("the command was ended by %s %d times, each time at another place", a.result.Signal, try)
		case try >= insistTries, try >= 2 && time.Since(began) > insistTime:
			return a, nil
		default:
			said = n
		}
		if err := ctx.Err(); err != nil {
			return a, err
		}
	}
}

// toolKilled is what the go command says of a tool of its own that was killed.
var toolKilled = []byte(": signal: killed\n")

// perhapsKilled reports whether the command, or a compiler that it started, may have been ended from outside.
func (a answer) perhapsKilled() bool {
	if a.result.Ended != sandbox.LimitNone {
		return false
	}
	return a.result.Signal == "SIGKILL" || a.result.Signal == "SIGTERM" || a.builds && bytes.Contains(a.result.Stderr.Data, toolKilled)
}
