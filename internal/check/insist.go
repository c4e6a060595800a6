package check

import (
	"bytes"
	"context"
	"fmt"
	"strings"
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

// toolKilled is what the go command says of a compiler of its own that was killed.
const toolKilled = ": signal: killed"

// perhapsKilled reports whether the command, or a helper that it started, may have ended by accident.
func (a answer) perhapsKilled() bool {
	switch {
	case a.result.Ended != sandbox.LimitNone:
		return false
	case a.result.Signal == "SIGKILL", a.result.Signal == "SIGTERM":
		return true
	}
	return a.builds && a.result.Exit != 0 && a.blamesNoSource()
}

// blamesNoSource reports whether the go command failed and named no line of a file that is wrong, or lost a compiler on the
// way. Many a mistake in a tree is of no line; it is told from a helper that was killed in that it is there each time.
func (a answer) blamesNoSource() bool {
	blames := false
	for _, out := range [][]byte{a.result.Stdout.Data, a.result.Stderr.Data} {
		for line := range strings.Lines(string(out)) {
			line = strings.TrimRight(line, "\r\n")
			if strings.HasSuffix(line, toolKilled) {
				return true
			}
			blames = blames || goErrorLine.MatchString(line)
		}
	}
	return !blames
}
