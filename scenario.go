package tare

import (
	"encoding/json"
	"time"
)

// A ScenarioSpec is what a task of kind Scenario holds beside its brief, which is Task.Ticket. Its first part says how the
// world is made and is for whoever plays the scenario; the rest is what its author expects, written by hand, and is for
// whoever judges.
//
// A Predicate is an expression of package predicate. Of a [State] it sees each collection by its name, the state before
// the episode as "before", and what checkpoints took as "bound".
type ScenarioSpec struct {
	World   WorldSpec
	Scripts []AgentScript // what the scripted agents do, by name

	Principal   Principal
	Goal        []Expectation
	Checkpoints []Checkpoint
	Effects     []Effect
	Promises    []Expectation // of the world itself: where an observed state breaks one, the world is at fault
	Minefields  []Minefield
	Consents    []Consent
	Credentials []Credential
	Sources     []Source
	Claims      []ClaimRule
	Optional    []string // gates that may be NA or UNVERIFIED
	Cleanup     *Cleanup // nil: there is nothing to clean up
}

// A Predicate is an expression with three answers: it holds, it does not, it cannot be told.
type Predicate string

// An Expectation is one predicate with the reason that is shown when it does not hold.
type Expectation struct {
	ID   string
	That Predicate
	Why  string
}

// A WorldSpec says what the agent acts in: exactly one of its fields is set.
type WorldSpec struct {
	Simulator *SimulatorSpec
	MCP       *MCPSpec
}

// A SimulatorSpec is a world of package platform.
type SimulatorSpec struct {
	Seed    int64
	Clock   time.Time       // simulated time at the beginning
	Start   json.RawMessage // the start state, in the platform's form
	As      string          // the principal that the agent's calls are made by
	Faults  []FaultSpec
	Answers []Answer // to ask_user
}

// An MCPSpec is a world behind any MCP server: a command that is started, or the address of one that runs. In Command and
// Env, "{dir}" is where the fresh directory really lies; whoever uses the server sees Dir in its place, so that records and
// expectations do not depend on it.
type MCPSpec struct {
	Command []string
	URL     string
	Servers []string // names under which clients may know it
	Dir     string   // a path that stands for a fresh directory, which holds the task's seed; "" when the server needs none
	Env     map[string]string
	Observe []ReadSpec
	Faults  []FaultSpec // those that a proxy can make
}

// A ReadSpec is a read-only call of which an observation is made.
type ReadSpec struct {
	Collection string
	Tool       string
	Args       json.RawMessage
	Items      string // path in the structured result to the list; "": the text, by Parse
	Parse      string // json, lines: how to read a text result; "" with Items
	Next       string // path to the cursor of the next page; "": the answer is the whole collection
	Cursor     string // the argument that takes it
	ID         string // the field that is an item's id; "" is "id"
	Trusted    bool   // the tool changes nothing, although the server does not say so
}

// A FaultKind is a way in which a world fails an agent.
type FaultKind string

const (
	FaultTimeoutBefore  FaultKind = "timeout_before"   // no answer in time, and nothing was done
	FaultTimeoutAfter   FaultKind = "timeout_after"    // no answer in time, though it was done
	FaultUnavailable    FaultKind = "unavailable"      // 503, may be tried again after a while
	FaultConflict       FaultKind = "conflict"         // 409
	FaultAmbiguous      FaultKind = "ambiguous_ack"    // "accepted, state unknown"
	FaultFalseSuccess   FaultKind = "false_success"    // a success, and nothing was done
	FaultErrorInSuccess FaultKind = "error_in_success" // a success that holds nothing but an error object
	FaultStaleCursor    FaultKind = "stale_cursor"     // the cursor of a page has expired
	FaultDuplicatePage  FaultKind = "duplicate_page"   // the page before comes again
	FaultSlow           FaultKind = "slow"             // what was begun takes much longer
	FaultRevoked        FaultKind = "revoked"          // the principal loses its permission
	FaultDelay          FaultKind = "delay"            // a proxy's: the answer comes late
	FaultCorrupted      FaultKind = "corrupted"        // a proxy's: the answer is damaged
	FaultTruncated      FaultKind = "truncated"        // on the way to any world: only the beginning of the answer came
	FaultError          FaultKind = "error"            // likewise: the tool failed, and nothing was done
	FaultDisconnect     FaultKind = "disconnect"       // likewise: the connection broke, and nothing was done
)

// Spoils reports whether a call with such a fault on the way has to be made again: its answer is missing or damaged. What comes
// late comes.
func (k FaultKind) Spoils() bool {
	switch k {
	case FaultError, FaultTimeoutBefore, FaultTimeoutAfter, FaultUnavailable, FaultTruncated, FaultCorrupted, FaultDisconnect:
		return true
	}
	return false
}

// A FaultSpec places a fault: on the Nth matching call, or on matching calls at a seeded rate.
type FaultSpec struct {
	ID         string
	Kind       FaultKind
	Tool       string              // "*" for every tool
	Where      map[string]ArgMatch // of the arguments
	Nth        int                 // from 1; 0 with Rate
	Times      int                 // how many matching calls in a row from the Nth; 0 is 1
	Rate       float64             // 0 with Nth
	Applied    bool                // of ambiguous_ack: whether it was done
	RetryAfter time.Duration       // of unavailable, in simulated time
	Slower     time.Duration       // of slow and delay
}

// An Answer is what ask_user says to a question that holds all words of one of the lists of Words; Say is said.
type Answer struct {
	ID    string
	Words [][]string // whole words, case does not count
	Say   string
}

// A Principal is who the agent acts for, and what it is allowed to do whether or not the world stops it.
type Principal struct {
	ID       string
	Accounts []string // that it may change; an item of another account is another's
	Owner    string   // the field of an item that names its account; "" is "account_id"
	MayNot   []string // tools that change something and that it was not granted
}

// A CallPattern matches calls.
type CallPattern struct {
	Tools  []string            // any of them
	Args   map[string]ArgMatch // all of them; further arguments do not matter
	Failed bool                // it must be answered with an error; otherwise it must not
	Result map[string]ArgMatch // of the structured result, by path
}

// An ArgMatch is what an argument must be: exactly one field is set.
type ArgMatch struct {
	Is    json.RawMessage   // this value; 100 and 100.0 are the same number
	OneOf []json.RawMessage // one of these
	Bound string            // what a checkpoint took, "checkpoint.name"
	Any   bool              // there, whatever it is
}

// A Checkpoint is a call that the way to the goal cannot do without. Any order that After allows is fine, and so is
// whatever else is called in between.
type Checkpoint struct {
	ID    string
	After []string          // checkpoints that must be reached before
	Calls []CallPattern     // any of them
	Take  map[string]string // name to path in the structured result: what later arguments are bound to
	See   []Expectation     // of the state right after it; a State with its label is recorded when there are any
}

// An Effect says in terms of observations what a call of a tool does when it is applied once.
type Effect struct {
	Tool       string
	Adds       string            // the collection that gets one more item,
	Removes    string            // or that loses the item,
	Sets       string            // or in which an item changes
	Key        string            // of Removes and Sets: the argument that holds the item's id,
	By         map[string]string // or the item's fields that tell which it is, to the arguments that hold them; Sets adds an item that is not there
	Field      map[string]string // item's field to the argument that it has the value of
	Idempotent bool              // a second application changes nothing
}

// A MinefieldKind is one of the things that an agent must not step on.
type MinefieldKind string

const (
	MineCreates     MinefieldKind = "creates"        // something new where there is one to be used
	MineForeign     MinefieldKind = "foreign"        // changes what belongs to another account
	MineEarly       MinefieldKind = "early_report"   // reports running before a terminal state
	MineNoConsent   MinefieldKind = "no_consent"     // destroys without consent
	MineRepeats     MinefieldKind = "repeats"        // repeats a change that is not idempotent
	MineDiscloses   MinefieldKind = "discloses"      // discloses a credential
	MineInvents     MinefieldKind = "invents"        // an argument from nowhere
	MineUnknownTool MinefieldKind = "unknown_tool"   // a tool that does not exist
	MineForbidden   MinefieldKind = "forbidden_call" // a call that this scenario forbids
)

// A Minefield is one that a scenario lays. Calls narrows it down where the kind alone does not say enough.
type Minefield struct {
	ID    string
	Kind  MinefieldKind
	Calls []CallPattern
	Why   string
}

// A Consent is what the user thinks of a destructive act: calls of Tool with arguments that match. An act that no Consent
// matches has none, and whoever asks for one by request_consent is refused.
type Consent struct {
	ID    string
	Tool  string              // the destructive tool
	Args  map[string]ArgMatch // which calls of it
	Given ConsentGiven
}

// ConsentGiven says how consent stands.
type ConsentGiven string

const (
	ConsentInBrief ConsentGiven = "brief"   // the brief itself asks for it
	ConsentAsked   ConsentGiven = "asked"   // given to whoever asks by request_consent
	ConsentRefused ConsentGiven = "refused" // refused to whoever asks
)

// A Credential is a value that must not be told.
type Credential struct {
	ID     string
	Value  string   // known beforehand,
	Tool   string   // or in the result of this tool
	Path   string   // at this path
	PassTo []string // tools to which it may be handed; "tool.argument"
}

// A Source allows values of one argument that are in none of the sources that are always legitimate.
type Source struct {
	Tool   string // "*" for every tool
	Arg    string
	Free   bool              // any text: a reason, a note
	Values []json.RawMessage // these
	Derive string            // from a legitimate value: slug, lower, upper, trim, number
}

// A ClaimRule ties what the agent says at the end to what was observed.
type ClaimRule struct {
	ID     string
	Claim  string        // a claim of package claims: deployed, running, scaled, deleted, …
	About  []string      // words of which the clause holds one; none: whatever it is about
	Holds  Predicate     // what must be so at the end for the claim to be true
	Seen   []CallPattern // of which the agent must have made one, after its last change, before it says so
	Must   bool          // the agent must say so
	Denied bool          // what must or may be said is the opposite: "could not be deployed"
}

// A Cleanup says what the agent is to take away at the end. The goal is judged before it begins.
type Cleanup struct {
	Begins []CallPattern // the first of these calls, once the checkpoints After are reached, begins it
	After  []string
	Leaves []Expectation // at the very end
}

// An AgentScript is what a scripted agent does: calls in order, with values taken from one result and put into a later
// call. It knows nothing of what is expected.
type AgentScript struct {
	Name  string
	Steps []ScriptStep
	Final string // what it says at the end; {name} is replaced by what was taken
}

// A ScriptStep is one call of a script, perhaps made several times.
type ScriptStep struct {
	Tool       string
	Args       json.RawMessage     // a string "{name}" is the value that was taken under that name; within longer text, its text
	Take       map[string]string   // name to path in the structured result
	Until      map[string]ArgMatch // call again until the result matches, by path
	Retry      bool                // call again while the answer is an error that says that it may be tried again
	Most       int                 // calls; 0 is 1, with Until, Retry or Pages 30; with none of them it is how often the call is made
	Pause      float64             // seconds to wait between these calls, by the tool "wait"
	Pages      string              // path of the cursor: turn pages until Take finds its values
	IfTaken    string              // only if that name was taken
	IfNotTaken string              // only if it was not
	OrElse     string              // when the call fails, Until is never so or Take finds nothing: the last message, and the end
}
