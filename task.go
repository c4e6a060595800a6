package tare

import (
	"encoding/json"
	"time"
)

// A TaskKind says what sort of work a task is.
type TaskKind string

const (
	Ticket   TaskKind = "ticket"   // fix this repository
	Vuln     TaskKind = "vuln"     // repair this vulnerability
	Scenario TaskKind = "scenario" // operate this platform
	Canary   TaskKind = "canary"   // find, or do not find, a planted fault
)

// A Category says what a task's results may be used for.
type Category string

const (
	Development Category = "development" // iterated on freely
	HeldOut     Category = "held-out"    // never looked at while policies are tuned
	Fixture     Category = "fixture"     // tests the grader; refused for agents on every path
)

// A Task is one piece of work with everything its grader knows. Agents never see a Task: they see a Brief.
type Task struct {
	ID           string        // suite/name
	Kind         TaskKind      //
	Title        string        // one line, for people
	Category     Category      //
	Runner       string        // which runner of package check runs its tests and probes, "pytest" for one
	Requirements []Requirement // numbered as in the ticket
	Ticket       string        // what the agent reads
	Seed         Tree          // the workspace as the agent gets it
	Hidden       Tree          // the probe: calls the code, reports values, asserts nothing
	Sources      []string      // directories or files of the seed that hold the subject
	Visible      []string      // every test node of the seed, by exact id
	Decoys       []string      // files that look like the subject and are not; for metrics
	Cases        []Case        // what the probe is asked, and what must come back
	References   []Reference   // correct fixes, written differently
	Twins        []Twin        // references made wrong by one token
	Controls     []Control     // solutions whose right verdict is known, the derived ones included
	Limits       Limits        //
	Scenario     *ScenarioSpec // of a scenario; the fields from Runner to Controls, Ticket and Controls aside, are then empty
	Vuln         *VulnSpec     // of a vulnerability; Seed, Hidden, References, Controls, Ticket and Limits are then set, the other fields of a ticket are empty
	Canary       *CanarySpec   // of a canary; Seed, Hash and Limits are then set, and no other field but ID, Kind, Title and Category
	Hash         Digest        // of the task's folder
}

// A Requirement is one numbered demand of the ticket.
type Requirement struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// A Case is one question to the probe and its right answer. Call and Args enter the sandbox, Want never does.
type Case struct {
	ID          string          `json:"id"`                // unique in the task
	Requirement int             `json:"requirement"`       // the requirement that a wrong answer breaks
	Mirrors     string          `json:"mirrors,omitempty"` // the visible test whose content this case repeats
	Call        string          `json:"call"`              // a function of the probe
	Args        json.RawMessage `json:"args"`              // a JSON array, its positional arguments
	Want        Want            `json:"want"`
}

// A Reference is a correct fix: the files that it changes, and a genuine regression test.
type Reference struct {
	Name   string
	Delete []string // paths of the seed that are not there any more; first
	Fix    Tree
	Test   Tree
}

// Solution is the tree that the reference, without its test, makes of the seed.
func (r Reference) Solution(seed Tree) Tree { return seed.Without(r.Delete...).Overlay(r.Fix) }

// A Twin is a reference in which one piece of text is replaced by another, so that the bug, or one like it, is back.
type Twin struct {
	Name, Of            string // Of names the reference
	File, Replace, With string // Replace occurs exactly once in File
	Tree                Tree   // the files of the reference, changed
}

// An Origin says where a control comes from.
type Origin string

const (
	FromSeed       Origin = "seed"       // the task as it is handed out
	FromNoop       Origin = "noop"       // an agent that does nothing
	FromReference  Origin = "reference"  // a reference, with or without its test
	FromWorthless  Origin = "worthless"  // a reference with a test that proves nothing
	FromBad        Origin = "bad"        // a wrong solution
	FromAcceptable Origin = "acceptable" // a right solution that looks unusual
	FromAdversary  Origin = "adversary"  // an attempt to win without the work
	FromScript     Origin = "script"     // a scripted agent, of a scenario
	FromVariant    Origin = "variant"    // a good record, changed in one way
	FromSick       Origin = "sick"       // the record of a harness that failed, or of a report that was forged
)

// A Control is a solution whose right verdict is known. It is applied to the seed: Delete first, then each tree of
// Apply on top of the one before.
type Control struct {
	Name   string
	Origin Origin
	Delete []string
	Apply  []Tree
	Agent  string // play this agent instead of a tree
	Expect Expect
}

// Solution is the workspace that the control stands for.
func (c Control) Solution(seed Tree) Tree {
	t := seed.Without(c.Delete...)
	for _, over := range c.Apply {
		t = t.Overlay(over)
	}
	return t
}

// Expect is what must become of a control.
type Expect struct {
	Outcome     Outcome  `json:"outcome"`
	Reward      *float64 `json:"reward,omitempty"`      // nil: not stated
	Gate        string   `json:"gate,omitempty"`        // the gate that decides, unless the outcome is PASS
	Requirement int      `json:"requirement,omitempty"` // the requirement that the gate names; 0: not stated
	Reason      string   `json:"reason,omitempty"`      // a part of the gate's reason
}

// Limits bound one episode and the checks that grade it. A zero field takes the default of whoever applies it.
type Limits struct {
	Wall  time.Duration `json:"wall,omitempty"`  // of the whole episode
	Turns int           `json:"turns,omitempty"` // tool calls of one episode
	Check time.Duration `json:"check,omitempty"` // of one command while grading, and of run_tests

	// Of an agent that asks a model, over all of its answers:
	Tokens  int64   `json:"tokens,omitempty"` // read and written
	Dollars float64 `json:"dollars,omitempty"`
}

// A Brief is what an agent is shown, and all that it is shown.
type Brief struct {
	Title  string `json:"title"`
	Text   string `json:"text"` // the ticket
	Limits Limits `json:"limits"`
}

// Brief is what an agent is shown of t.
func (t *Task) Brief() Brief {
	return Brief{Title: t.Title, Text: t.Ticket, Limits: t.Limits}
}

// BriefAt is Brief at a level. That of a canary names a phrasing, which is all that a harness is shown.
func (t *Task) BriefAt(level string) Brief {
	b := t.Brief()
	if t.Canary != nil {
		p, _ := t.Canary.Phrasing(level)
		b.Title, b.Text = "", p.Text
	}
	return b
}
