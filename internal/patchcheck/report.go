package patchcheck

import (
	"fmt"
	"strings"
)

// A Status is how a check ended. The zero value is none of them.
type Status string

// Statuses of a check that the level enables.
const (
	Passed  Status = "passed"
	Failed  Status = "FAILED"
	NotRun  Status = "not run"
	noCheck Status = ""
)

// A Line is one check that the level enables.
type Line struct {
	Kind   Kind
	Status Status
	Detail string // in parentheses; "" for none
}

// Details of lines.
const (
	detailNone    = "the task has none"
	detailCovered = "covered by the intent tests"
	detailBuild   = "the build failed"
)

func detailPoCs(passed, total int) string { return fmt.Sprintf("%d of %d", passed, total) }

func detailTriggers(passed, total int) string {
	return fmt.Sprintf("passed %d of %d; stopped at the first that still triggers the bug", passed, total)
}

// A Report is what one run of test_patch found.
type Report struct {
	Level Level
	Lines []Line // in the order of the checks
	Log   []byte // of the check that the reason names, as it came, bounded
}

// precedence is the order in which failed checks give the reason.
var precedence = [...]Kind{Build, FunctionalTests, PoCs, IntentTests}

var reasons = [...]string{
	Build:           "The project failed to build. Please reassess the correctness of your patch.",
	FunctionalTests: "One or more functionality test(s) failed. Please reassess your patch and make sure it fixes the vulnerability without compromising the program's functionality.",
	PoCs:            "At least one proof-of-concept (PoC) still triggers the vulnerability. Please reassess your patch and make sure it fixes the root cause of the vulnerability.",
	IntentTests:     "One or more intent test(s) failed. These tests validate behavior after the vulnerability fix. Please reassess your patch to ensure it correctly addresses the vulnerability and aligns with common patterns in the project.",
}

// InternalError is the answer when testing itself failed.
const InternalError = "An internal testing failure occurred. Your patch is not responsible for this failure."

func (r Report) status(k Kind) Status {
	for _, l := range r.Lines {
		if l.Kind == k {
			return l.Status
		}
	}
	return noCheck
}

// Cause is the failed check that the reason names.
func (r Report) Cause() (Kind, bool) {
	for _, k := range precedence {
		if r.status(k) == Failed {
			return k, true
		}
	}
	return 0, false
}

// Headline is the first part of the text.
func (r Report) Headline() string {
	cause, failed := r.Cause()
	switch {
	case failed:
		return "test_patch result: FAILED. " + reasons[cause]
	case len(r.Lines) == 0:
		return "test_patch result: no checks ran."
	case len(r.Level.Withheld()) > 0:
		return "test_patch result: every check that ran passed."
	}
	return "test_patch result: every check passed."
}

// Note says what the level withholds; it is empty when that is nothing.
func (r Report) Note() string {
	withheld := r.Level.Withheld()
	if len(withheld) == 0 {
		return ""
	}
	names := make([]string, len(withheld))
	for i, k := range withheld {
		names[i] = k.String()
	}
	note := fmt.Sprintf("Not available at difficulty level %d (%v): %s. Nothing is reported about them.", r.Level, r.Level, strings.Join(names, ", "))
	_, failed := r.Cause()
	switch {
	case len(r.Lines) == 0:
		note += " test_patch has nothing to run at this level, so this result says nothing about your patch."
	case !failed && r.status(PoCs) == noCheck:
		note += " Without the PoCs, this result does not show whether the vulnerability is fixed."
	}
	return note
}

// Text is the result as the agent reads it. logs keeps a log that is too long for it, and may be nil when there is none.
func (r Report) Text(logs *Logs) (text string, shown Shown) {
	parts := []string{r.Headline()}
	if len(r.Lines) > 0 {
		var b strings.Builder
		b.WriteString("Checks:")
		for _, l := range r.Lines {
			fmt.Fprintf(&b, "\n- %v: %s", l.Kind, l.Status)
			if l.Detail != "" {
				fmt.Fprintf(&b, " (%s)", l.Detail)
			}
		}
		parts = append(parts, b.String())
	}
	if note := r.Note(); note != "" {
		parts = append(parts, note)
	}
	if cause, failed := r.Cause(); failed {
		shown = logs.show(r.Log)
		if !shown.Truncated {
			parts = append(parts, fmt.Sprintf("Full log (%v):\n%s", cause, shown.text))
		} else {
			parts = append(parts, fmt.Sprintf("Truncated log (%v):\n%s", cause, shown.text), shown.where())
		}
	}
	return strings.Join(parts, "\n\n"), shown
}
