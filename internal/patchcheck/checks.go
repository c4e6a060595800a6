package patchcheck

import (
	"context"
	"errors"
	"fmt"

	"tare"
)

// Checks are the checks of one tree. They are called one at a time, Build first. An error is a failure of ours; what the
// tree does, limits that it meets included, is in the Outcome.
type Checks interface {
	Build(ctx context.Context) (Outcome, error)
	PoC(ctx context.Context, i int) (Outcome, error) // from 0
	IntentTests(ctx context.Context) (Outcome, error)
	FunctionalTests(ctx context.Context) (Outcome, error)
	Close() error
}

// An Open begins the checks of a tree. ahead are those that will be asked for after the build unless it fails, and that may be
// begun before they are; no other is run unasked.
type Open func(ctx context.Context, tree tare.Tree, ahead []Kind) (Checks, error)

// An Outcome is what one check found.
type Outcome struct {
	Passed bool
	Exit   int    // -1 when a signal ended it
	Ended  string // the limit that ended it: wall, memory, …
	Stdout []byte // bounded
	Stderr []byte // bounded
	Log    []byte // both as they came, bounded
}

// Has says which checks a task has.
type Has struct {
	Build           bool
	PoCs            int
	IntentTests     bool
	FunctionalTests bool
}

// HasOf says which checks t has.
func HasOf(t *tare.Task) Has {
	v := t.Vuln
	return Has{Build: v.Build.Text != "", PoCs: len(v.PoCs), IntentTests: v.Intent != nil, FunctionalTests: v.Function != nil}
}

func (h Has) has(k Kind) bool {
	switch k {
	case Build:
		return h.Build
	case PoCs:
		return h.PoCs > 0
	case IntentTests:
		return h.IntentTests
	default:
		return h.FunctionalTests
	}
}

// ahead lists the checks that a run at this level will ask for once the tree is built: functional tests only where no intent
// tests can cover them.
func (l Level) ahead(has Has) []Kind {
	var out []Kind
	covered := false
	for _, k := range kinds {
		if k == Build || !l.Enables(k) || !has.has(k) || k == FunctionalTests && covered {
			continue
		}
		covered = covered || k == IntentTests
		out = append(out, k)
	}
	return out
}

// A Stage says how far a run is.
type Stage struct {
	Kind   Kind
	PoC    int // from 1, of PoCs
	Of     int // PoCs
	Queued bool
}

// sequence makes the checks that the level enables, in order, and stops where the rules say.
func sequence(ctx context.Context, l Level, has Has, c Checks, at func(Stage)) (Report, error) {
	r := Report{Level: l}
	logs := map[Kind][]byte{}
	one := func(k Kind, check func(context.Context) (Outcome, error)) error {
		at(Stage{Kind: k})
		out, err := check(ctx)
		if err = errors.Join(err, ctx.Err()); err != nil { // what was cancelled is no outcome
			return fmt.Errorf("checking %v: %w", k, err)
		}
		line := Line{Kind: k, Status: Passed}
		if !out.Passed {
			line.Status, logs[k] = Failed, out.log()
		}
		r.Lines = append(r.Lines, line)
		return nil
	}
	for _, k := range kinds {
		if !l.Enables(k) {
			continue
		}
		var err error
		switch {
		case r.status(Build) == Failed:
			r.Lines = append(r.Lines, Line{k, NotRun, detailBuild})
		case !has.has(k):
			r.Lines = append(r.Lines, Line{k, Passed, detailNone})
		case k == Build:
			err = one(k, c.Build)
		case k == PoCs:
			var line Line
			line, logs[k], err = pocs(ctx, has.PoCs, c, at)
			r.Lines = append(r.Lines, line)
		case k == IntentTests:
			err = one(k, c.IntentTests)
		case has.IntentTests && r.status(IntentTests) == Passed:
			r.Lines = append(r.Lines, Line{k, Passed, detailCovered})
		default:
			err = one(k, c.FunctionalTests)
		}
		if err != nil {
			return Report{}, err
		}
	}
	if cause, failed := r.Cause(); failed {
		r.Log = logs[cause]
	}
	return r, nil
}

// pocs runs PoCs up to the first that still triggers.
func pocs(ctx context.Context, total int, c Checks, at func(Stage)) (Line, []byte, error) {
	for i := range total {
		at(Stage{Kind: PoCs, PoC: i + 1, Of: total})
		out, err := c.PoC(ctx, i)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return Line{}, nil, fmt.Errorf("checking PoC %d: %w", i+1, err)
		}
		if !out.Passed {
			return Line{PoCs, Failed, detailTriggers(i, total)}, out.log(), nil
		}
	}
	return Line{PoCs, Passed, detailPoCs(total, total)}, nil, nil
}

// log is the log of a failed check; the limit that ended it stands at its end.
func (o Outcome) log() []byte {
	log := o.Log
	if log == nil {
		log = joinStreams(o.Stdout, o.Stderr)
	}
	if o.Ended == "" {
		return log
	}
	line := "[ended by the limit on " + o.Ended + "]\n"
	if len(log) > 0 && log[len(log)-1] != '\n' {
		line = "\n" + line
	}
	return append(log[:len(log):len(log)], line...)
}

// joinStreams is standard output and then, after a blank line, standard error.
func joinStreams(stdout, stderr []byte) []byte {
	switch {
	case len(stdout) == 0:
		return stderr
	case len(stderr) == 0:
		return stdout
	}
	return append(append(append([]byte{}, stdout...), "\n\n"...), stderr...)
}
