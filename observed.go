package tare

import "encoding/json"

// ScenarioEvidence is what was observed of a scenario from outside the agent's reach. The calls themselves are the steps
// of the trajectory. It holds no judgement.
type ScenarioEvidence struct {
	Brief       string       `json:"brief,omitempty"` // what the agent was shown; "" when whoever made the record does not know
	Catalogue   Catalogue    `json:"catalogue"`
	States      []State      `json:"states"`                // in the order in which they were taken
	Watched     Watch        `json:"watched,omitempty"`     // which calls Deltas speaks of
	Deltas      []Delta      `json:"deltas,omitempty"`      // calls between whose beginning and end something changed, in order
	Injected    []Injected   `json:"injected,omitempty"`    // faults
	Divergences []Divergence `json:"divergences,omitempty"` // calls that the world does not model
	Reviews     []Review     `json:"reviews,omitempty"`     // what people found out later; only ever in a further record
}

// Labels of states. That of a checkpoint is LabelCheckpoint and its id.
const (
	LabelBefore        = "before"
	LabelBeforeCleanup = "before_cleanup" // of a scenario with a plan for cleaning up
	LabelAfter         = "after"
	LabelCheckpoint    = "checkpoint:"
)

// A State is what was observed of the world at one moment.
type State struct {
	Label       string                `json:"label"`
	Step        int                   `json:"step"`            // how many calls had been answered
	Clock       float64               `json:"clock,omitempty"` // simulated seconds since the beginning
	Collections map[string]Collection `json:"collections"`
	Reads       []Read                `json:"reads,omitempty"`   // of a live world: the calls that it was made of
	Problem     string                `json:"problem,omitempty"` // why there is no observation; then Collections is empty
}

// A Collection is all that was observed of one kind of thing.
type Collection struct {
	Complete bool              `json:"complete"` // nothing of the kind is left out
	Items    []json.RawMessage `json:"items"`    // objects, by their "id" where they have one
}

// A Read is one read-only call behind an observation.
type Read struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	OK     bool            `json:"ok"`
	Digest Digest          `json:"digest"` // of the result
}

// State finds the last state with that label.
func (e *ScenarioEvidence) State(label string) (State, bool) {
	for i := len(e.States) - 1; i >= 0; i-- {
		if e.States[i].Label == label {
			return e.States[i], true
		}
	}
	return State{}, false
}

// A Watch says after which calls a world is looked at for changes.
type Watch string

const (
	WatchEvery     Watch = "every"     // after every call
	WatchMutations Watch = "mutations" // after calls of tools that are not read-only
)

// A Delta is what changed between the beginning and the end of one call, by the call or by the time that it took.
type Delta struct {
	Step    int           `json:"step"` // index of the call
	Changes []StateChange `json:"changes"`
}

// A StateChange is one item that came, went or changed.
type StateChange struct {
	Collection string          `json:"collection"`
	ID         string          `json:"id"`
	Before     json.RawMessage `json:"before,omitempty"`  // absent: it came
	After      json.RawMessage `json:"after,omitempty"`   // absent: it went
	ByTime     bool            `json:"by_time,omitempty"` // it happened while time passed, before the call was carried out
}

// Injected is a fault that was injected into a call.
type Injected struct {
	Step    int       `json:"step"`
	ID      string    `json:"id,omitempty"` // of the fault in the scenario
	Kind    FaultKind `json:"kind"`
	Applied *bool     `json:"applied,omitempty"` // whether the call was carried out, where the world knows
}

// A Divergence is a call, or a part of one, that the world does not model: what depends on it cannot be told.
type Divergence struct {
	Step int    `json:"step"`
	Tool string `json:"tool"`
	What string `json:"what"`
}

// A Review is a person's answer to something that a verdict left open.
type Review struct {
	Record Digest `json:"record"`         // of the record that it was asked of
	About  string `json:"about"`          // the entry of Verdict.Unresolved
	Step   *int   `json:"step,omitempty"` // the call in question
	Answer string `json:"answer"`         // applied, not_applied, twice; yes, no
	By     string `json:"by"`
	Why    string `json:"why,omitempty"`
}

// A Reply is what a world answers to one call.
type Reply struct {
	Data     json.RawMessage // the structured result; nil where there is none
	Text     string          // what a model reads
	Content  json.RawMessage // the blocks that the Text is of, where a live server sent other than text; else nil
	IsError  bool
	Fault    *Injected // without its Step
	Diverged string    // what the world does not model, "" when it does
	Clock    float64   // simulated seconds since the beginning
}
