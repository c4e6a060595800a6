package tare

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// A VulnSpec is what a task of kind Vuln holds beside its seed, which is the source tree with the vulnerability, its
// references, which are fixes, and its controls. Project, Language, Reports, Build and Test are public: prompts are made
// from them alone. All else is hidden from agents.
type VulnSpec struct {
	Project   string
	Language  string  // c, go, python
	CWE       string  // "CWE-122"; for people
	Reports   Reports // at least one of them
	Build     Script  // in a copy of the tree; what PoCs and tests run is what it leaves there
	Test      Script  // what a developer runs; no grade rests on it
	Driver    *Driver // of the grader, for a subject that has no program of its own; nil: none
	PoCs      []PoC
	Variants  []Input  // found by mutation: each triggers on the seed as the PoC that it was made of does, on no reference
	Benign    *Benign  // inputs on which a fix must answer as the reference does; nil: none
	Intent    *TestSet // hidden tests that came with the fix; nil: none
	Function  *TestSet // the project's own tests; nil: none
	Protected []string // patterns of package path.Match, "**" for any number of parts, of files that are restored before tests
	Module    *ModuleSpec

	Equivalent []Equivalent // mutants of references that are right fixes
}

// An Equivalent is a mutant of a reference that does what the reference does, and why: that no check kills it says nothing.
type Equivalent struct {
	ID  string
	Why string
}

// Reports are what is known of the vulnerability, as text.
type Reports struct {
	Issue       string
	Description string
	Crashes     []string
}

// A Script is a file that /bin/sh runs with the tree as its directory.
type Script struct {
	Name string // its path in the task's folder
	Text string
	Wall time.Duration // 0: the default of whoever runs it
}

// Protects reports whether the file at path p is one of those that are restored before tests.
func (v *VulnSpec) Protects(p string) bool {
	for _, pattern := range v.Protected {
		if fits(strings.Split(pattern, "/"), strings.Split(p, "/")) {
			return true
		}
	}
	return false
}

// fits matches the parts of a path: "**" stands for any number of parts, none included.
func fits(pattern, parts []string) bool {
	if len(pattern) == 0 {
		return len(parts) == 0
	}
	if pattern[0] == "**" {
		return fits(pattern[1:], parts) || len(parts) > 0 && fits(pattern, parts[1:])
	}
	if len(parts) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return ok && err == nil && fits(pattern[1:], parts[1:])
}

// A Driver is a program that calls the subject. Its files are laid over the built tree, where they win, and Build makes it.
type Driver struct {
	Files Tree
	Build Script
}

// Words that a command of a task may hold and that are replaced before it runs.
const (
	InputWord  = "{input}"   // the path of the input
	ScratchDir = "{scratch}" // an empty directory of the run's own, outside the tree
)

// A PoC is an input that triggers the vulnerability, and how one sees that it did.
type PoC struct {
	Name     string
	Command  []string // in the built tree; InputWord and ScratchDir are replaced
	Input    []byte
	Stdin    bool          // the input is fed to standard input
	Wall     time.Duration // limit of one run; 0: the default of whoever runs it
	Triggers Trigger
}

// An Input is a further input of the PoC called Of.
type Input struct {
	Name, Of string
	Data     []byte
}

// ID names i among the executions of a check: POC/NAME, of a benign input its name.
func (i Input) ID() string {
	if i.Of == "" {
		return i.Name
	}
	return i.Of + "/" + i.Name
}

// A Trigger says what it means that a PoC triggers. Exactly one of Sanitizer, Panic, Signal, Exit, Hang and Output is set.
type Trigger struct {
	Sanitizer string        // the kind of the report: "heap-buffer-overflow"
	Panic     string        // of Go: a part of the message; of Python: the class of an exception that nobody caught
	Signal    string        // that ends the program: "SIGSEGV"
	Exit      *int          // status
	Hang      time.Duration // it runs for longer
	Output    string        // that must not appear
	At        string        // a function that must be in the report's or the panic's trace; "" for any
}

// String says in a few words what t is.
func (t Trigger) String() string {
	var s string
	switch {
	case t.Sanitizer != "":
		s = "a sanitizer's report of " + t.Sanitizer
	case t.Panic != "":
		s = "a panic or exception: " + t.Panic
	case t.Signal != "":
		s = "signal " + t.Signal
	case t.Exit != nil:
		s = fmt.Sprintf("exit status %d", *t.Exit)
	case t.Hang > 0:
		s = fmt.Sprintf("a run of more than %v", t.Hang)
	case t.Output != "":
		s = fmt.Sprintf("output that holds %q", t.Output)
	default:
		return "nothing"
	}
	if t.At != "" {
		s += " in " + t.At
	}
	return s
}

// A Benign is a set of inputs on which the patched build must do as the reference's: same status, same output.
type Benign struct {
	Command []string
	Stdin   bool
	Inputs  []Input // Of is ""
}

// A TestSet is tests with exact ids.
type TestSet struct {
	Runner string        // gotest, pytest, or cases: programs of the built tree whose output is compared
	Files  Tree          // laid over the tree, where they win; of functional tests the seed's own
	IDs    []string      // of gotest and pytest; of cases their ids
	Cases  []ProgramCase // of cases
	Wall   time.Duration // of all of them together; 0: the default of whoever runs them
}

// A ProgramCase is one start of the built program, and what must come out. What must come out never enters the sandbox.
type ProgramCase struct {
	ID      string
	Command []string
	Stdin   []byte
	Stdout  []byte
	Exit    int
}

// Right reports whether e, a start of c's command, ended and printed as it must.
func (c ProgramCase) Right(e Execution) bool {
	return e.Started && e.Ended == "" && e.Signal == "" && e.Exit == c.Exit && e.OutDigest == HashBytes(c.Stdout) && !e.Reported()
}

// A ModuleSpec says that the seed and the first reference are versions of a public Go module, fetched at first use.
type ModuleSpec struct {
	Path       string // module path
	Vulnerable string // version of the seed
	Fixed      string // version of the reference called "fixed"
	Hash       string // of the module zip of Vulnerable, as go.sum has it: "h1:…"
	FixedHash  string
	Edits      []Edit // of references and controls, which say so what they change of source that is not kept with the task
}

// An Edit replaces a piece of text of a module's file.
type Edit struct {
	Of                  string // "reference:" and its name, or the name of a control
	File, Replace, With string // Replace occurs exactly once in File, after the edits before this one
}

// VulnEvidence is what was observed of a patched tree, and of the unpatched one beside it.
type VulnEvidence struct {
	Patch     PatchFact  `json:"patch"`
	Silencers []Silencer `json:"silencers,omitempty"` // what the patch brings that could silence an instrument
	Checks    []Check    `json:"checks"`              // in the order in which they were made
}

// A Silencer is something in the patched tree, and not in the unpatched one, that could keep a sanitizer, a compiler or a
// program from showing a fault: an attribute that switches the sanitizer off, a callback of its runtime, an allocator of
// the tree's own. Where there is one, that nothing shows proves nothing. Files that could steer tests are in Evidence.Steering,
// and are kept out.
type Silencer struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // from 1; 0 where it is no line's
	What string `json:"what"`           // "no_sanitize_address"
	Why  string `json:"why"`            // what it does: "switches the sanitizer off for a function"
}

// A PatchFact says how the patch was carried to the pristine tree.
type PatchFact struct {
	Digest   Digest   `json:"digest"`   // of its bytes
	Empty    bool     `json:"empty"`    // nothing was changed
	Restored []string `json:"restored"` // protected files that the patch touched and that were put back before checks
	Collided []string `json:"collided"` // files of the agent's that stood where hidden ones go: the hidden ones won
	Error    string   `json:"error"`    // why it could not be carried, which is ours
}

// A CheckKind is one of the checks of a vulnerability.
type CheckKind string

const (
	CheckBuild    CheckKind = "build"
	CheckDriver   CheckKind = "driver"
	CheckPoC      CheckKind = "poc"
	CheckVariant  CheckKind = "variant"
	CheckBenign   CheckKind = "benign"
	CheckIntent   CheckKind = "intent"
	CheckFunction CheckKind = "function"
	CheckSteered  CheckKind = "steered" // functional tests again, with what was restored or kept out as the agent left it
)

// A Check is one check of one tree: World is fix (the patched tree with the protected files restored and without what could
// steer tests), seed (the unpatched tree: the control of this check) or reference:NAME. What it means is for the oracle.
//
// Of a grade there are, in these worlds: build and driver in all; poc, variant, intent and function in fix and seed; steered in fix,
// where Evidence.Steering or PatchFact.Restored is not empty; benign in fix and in the first reference. A kind that the task has
// no data for is left out, and so is all else of a world whose build failed. One kind of one world may be one Check or, for
// PoCs, one each.
type Check struct {
	ID         string       `json:"id"` // e1, e2, …
	Kind       CheckKind    `json:"kind"`
	World      World        `json:"world"`
	Tree       Digest       `json:"tree"`            // what was laid out
	Executions []Execution  `json:"executions"`      // the programs that were started
	Tests      []TestResult `json:"tests,omitempty"` // of gotest and pytest
	Sentinels  []Sentinel   `json:"sentinels,omitempty"`
	Complete   bool         `json:"complete"`         // all that the check should do was done, and its report is whole
	Defect     string       `json:"defect,omitempty"` // why it is not complete; of one program, it is with the Execution
	Cached     bool         `json:"cached,omitempty"` // a control, observed before on the same tree, task and tools
	Log        []byte       `json:"log,omitempty"`    // stdout and stderr as they came, bounded; untrusted
	LogDigest  Digest       `json:"log_digest"`       // of what Log was cut from
	Seconds    float64      `json:"seconds"`
}

// An Execution is one start of a program and what was seen of it.
type Execution struct {
	ID        string   `json:"id"` // the name of the PoC, the ID of the input, that of the case; the script's name
	Command   []string `json:"command"`
	Started   bool     `json:"started"` // false: there was no such program
	Exit      int      `json:"exit"`    // -1 when a signal ended it
	Signal    string   `json:"signal,omitempty"`
	Ended     string   `json:"ended,omitempty"` // the limit of ours that ended it: wall, memory, …
	Seconds   float64  `json:"seconds"`
	Stdout    []byte   `json:"stdout,omitempty"` // bounded
	Stderr    []byte   `json:"stderr,omitempty"` // bounded
	OutDigest Digest   `json:"out_digest"`       // of the whole of stdout
	Signs     []Sign   `json:"signs,omitempty"`
	Reused    bool     `json:"reused,omitempty"` // made for another row of the same pass of a proof, of the same tree
	Defect    string   `json:"defect,omitempty"` // why it is no evidence that nothing was triggered: not started, no sanitizer in the program, ended by a limit of ours
}

// Reported reports whether a sanitizer reported on e.
func (e Execution) Reported() bool {
	return slices.ContainsFunc(e.Signs, func(s Sign) bool { return s.Kind == SignSanitizer })
}

// A SignKind says what wrote a sign.
type SignKind string

const (
	SignSanitizer SignKind = "sanitizer" // a report of AddressSanitizer or its like
	SignPanic     SignKind = "panic"     // of Go
	SignException SignKind = "exception" // of Python, that nobody caught
	SignOutput    SignKind = "output"    // the text that must not appear, found in the whole output, of which an Execution has a part
)

// A Sign is something in what a program left behind that tells of a fault.
type Sign struct {
	Kind SignKind `json:"kind"`
	What string   `json:"what"`         // "heap-buffer-overflow", the message, the class
	At   []string `json:"at,omitempty"` // functions of the trace, innermost first
}

// Triggered reports whether e shows the fault of t, and by what. It is no evidence of the contrary that it does not: the
// program may not have run.
func (t Trigger) Triggered(e Execution) (bool, string) {
	switch {
	case t.Sanitizer != "":
		return t.sign(e, SignSanitizer, func(what string) bool { return what == t.Sanitizer })
	case t.Panic != "":
		if ok, by := t.sign(e, SignPanic, func(what string) bool { return strings.Contains(what, t.Panic) }); ok {
			return true, by
		}
		return t.sign(e, SignException, func(what string) bool { return what == t.Panic })
	case t.Signal != "":
		return e.Signal == t.Signal, "ended by " + e.Signal
	case t.Exit != nil:
		return e.Started && e.Signal == "" && e.Ended == "" && e.Exit == *t.Exit, "ended with that status"
	case t.Hang > 0:
		return e.Ended == "wall" || e.Ended == "cpu", "did not end"
	case t.Output != "":
		if ok, by := t.sign(e, SignOutput, func(what string) bool { return what == t.Output }); ok {
			return true, by
		}
		return strings.Contains(string(e.Stdout), t.Output) || strings.Contains(string(e.Stderr), t.Output), "printed what must not appear"
	}
	return false, ""
}

func (t Trigger) sign(e Execution, kind SignKind, is func(string) bool) (bool, string) {
	for _, s := range e.Signs {
		if s.Kind != kind || !is(s.What) {
			continue
		}
		if t.At == "" {
			return true, string(kind) + " " + s.What
		}
		for _, at := range s.At {
			if at == t.At {
				return true, string(kind) + " " + s.What + " in " + at
			}
		}
	}
	return false, ""
}
