package tare

// Schemas of the entries.
const (
	RecordSchema  = "tare.record/1"
	VerdictSchema = "tare.verdict/1"
)

// A Record is all that a judge sees.
type Record struct {
	Schema     string     `json:"schema"`
	TaskHash   Digest     `json:"task_hash"`
	Trajectory Trajectory `json:"trajectory"`
	Evidence   Evidence   `json:"evidence"`
	Supersedes Digest     `json:"supersedes,omitempty"` // the record that this one was made of, when something was learnt or asked anew
}

// Evidence is what was observed of a ticket after the agent stopped, or of a scenario from outside. It holds no judgement.
type Evidence struct {
	Isolation string            `json:"isolation"`
	Problems  []Problem         `json:"problems,omitempty"` // what of ours failed
	Changes   []Change          `json:"changes"`            // seed to final workspace
	LeftOut   []string          `json:"left_out,omitempty"` // what the agent left that is neither file, directory nor link, or is beyond a limit: not read, not graded
	Steering  []Steering        `json:"steering,omitempty"` // files kept out of the graded trees
	Moved     []Moved           `json:"moved,omitempty"`    // visible tests that the agent left unchanged in another file
	Own       []TestNode        `json:"own,omitempty"`      // test nodes that the agent added or changed
	Broken    []string          `json:"broken,omitempty"`   // test files that the agent added or changed and that cannot be parsed
	Runs      []Run             `json:"runs"`               // in the order in which they were made
	Unmade    []Unmade          `json:"unmade,omitempty"`   // worlds that the agent's tree does not lend itself to
	Unvaried  string            `json:"unvaried,omitempty"` // why no world was varied where one was called for: tests of that language see code as text alone
	Graft     *Graft            `json:"graft,omitempty"`    // the tree with the bug grafted back, where one was needed
	Vuln      *VulnEvidence     `json:"vuln,omitempty"`     // of a vulnerability; then there are changes and no runs
	Scenario  *ScenarioEvidence `json:"scenario,omitempty"` // of a scenario; then there are neither changes nor runs
	Canary    *CanaryEvidence   `json:"canary,omitempty"`   // of a canary; then there are changes and no runs
	Stopped   string            `json:"stopped,omitempty"`  // the gate after which nothing more was gathered, as it would change nothing
}

// A Problem is a failure of the rig, never of the agent.
type Problem struct {
	Where string `json:"where"`
	Error string `json:"error"`
}

// An Unmade is a world that could not be made of the agent's tree, which says something of the tree and not of the rig.
type Unmade struct {
	World World  `json:"world"`
	Why   string `json:"why"`
}

// Steering is a file of the agent's that could steer the instrument, and was kept out.
type Steering struct {
	Path string     `json:"path"`
	Kind ChangeKind `json:"kind"`
	Why  string     `json:"why"` // "conftest.py not in the seed", …
}

// Moved is a visible test that stands, with the same content, under another id.
type Moved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// NowAt is the id under which the agent's workspace has the visible test called id.
func (e Evidence) NowAt(id string) string {
	for _, m := range e.Moved {
		if m.From == id {
			return m.To
		}
	}
	return id
}

// A TestNode is one test, by its exact id.
type TestNode struct {
	ID     string     `json:"id"`
	File   string     `json:"file"`
	Kind   ChangeKind `json:"kind,omitempty"` // Added or Modified, of a node of the agent's
	Digest Digest     `json:"digest"`         // of the test's own code, comments and layout aside
}

// A Role says which question a run serves.
type Role string

const (
	RoleVisible    Role = "visible"    // pristine tests on the agent's sources
	RoleSteering   Role = "steering"   // the same with the steering files in place
	RoleBehaviour  Role = "behaviour"  // the probe
	RoleSteered    Role = "steered"    // the probe with the steering files in place: to be told of, never to be graded
	RoleRegression Role = "regression" // the agent's own tests in one world
	RoleGraft      Role = "graft"      // the probe on the grafted tree
	RoleCollect    Role = "collect"    // the agent's test files, to learn what tests they hold where reading them does not tell
)

// A World names the tree and the circumstances of a run. Worlds of the regression gate:
//
//	fix            the agent's sources
//	again          the agent's sources once more, in another order and a directory of another name
//	reference:NAME a reference's sources
//	seed           the seed's sources
//	twin:NAME      a twin's sources
//	rewrite        the agent's sources, rewritten so that the behaviour stays
//	text-fix       the text of the agent's sources with the behaviour of the seed's
//	text-seed      the text of the seed's sources with the behaviour of the agent's
//	poison         the text of the agent's sources; every function of theirs raises
//	graft          the agent's sources with the seed's bodies for functions of the same name
//	varied:WORLD   that world with sources that do the same and are loaded as other instructions
//	lent:WORLD     the sources of a reference or twin, with the names that only the agent's have beside its own
type World string

const (
	WorldFix      World = "fix"
	WorldAgain    World = "again"
	WorldSeed     World = "seed"
	WorldRewrite  World = "rewrite"
	WorldTextFix  World = "text-fix"
	WorldTextSeed World = "text-seed"
	WorldPoison   World = "poison"
	WorldGraft    World = "graft"
)

// WorldReference is the world of the reference with that name.
func WorldReference(name string) World { return World("reference:" + name) }

// WorldTwin is the world of the twin with that name.
func WorldTwin(name string) World { return World("twin:" + name) }

// WorldLent is the world w, a reference or a twin, to which the agent's new names were lent.
func WorldLent(w World) World { return "lent:" + w }

// WorldVaried is the world w with its sources written otherwise.
func WorldVaried(w World) World { return "varied:" + w }

// A Run is one command in a sandbox and what was seen of it.
type Run struct {
	ID        string       `json:"id"` // e1, e2, …
	Role      Role         `json:"role"`
	World     World        `json:"world"`
	Tree      Digest       `json:"tree"` // what was laid out
	Command   []string     `json:"command"`
	Exit      int          `json:"exit"` // -1 when a signal ended it
	Signal    string       `json:"signal,omitempty"`
	Ended     string       `json:"ended,omitempty"` // the limit that ended it: wall, memory, …
	Seconds   float64      `json:"seconds"`
	Warm      bool         `json:"warm,omitempty"`   // forked from an interpreter that is kept ready, rather than started
	Reused    bool         `json:"reused,omitempty"` // made for another row of the same pass of a proof, of the same tree
	Complete  bool         `json:"complete"`         // the report came, whole, with this run's nonce and its end mark
	Defect    string       `json:"defect,omitempty"` // why the report is not complete: "no end mark", "line 3 is no JSON", …
	Sentinels []Sentinel   `json:"sentinels,omitempty"`
	Tests     []TestResult `json:"tests,omitempty"`
	Cases     []CaseResult `json:"cases,omitempty"`
	Output    []byte       `json:"output,omitempty"` // the end of stdout and stderr, bounded; untrusted
}

// A Sentinel is a test of the grader's own whose outcome is known before the run.
type Sentinel struct {
	Name string      `json:"name"` // passing, failing, twin
	Want TestOutcome `json:"want"`
	Got  TestOutcome `json:"got"` // "" when it was not reported
}

// A TestOutcome is what a runner reported of one test.
type TestOutcome string

const (
	TestPassed  TestOutcome = "passed"
	TestFailed  TestOutcome = "failed"
	TestSkipped TestOutcome = "skipped" // also an expected failure
	TestError   TestOutcome = "error"   // outside the test's body: collection, set-up, tear-down
)

// A TestResult is one test of one run.
type TestResult struct {
	ID      string      `json:"id"`
	Outcome TestOutcome `json:"outcome"`
	Phase   string      `json:"phase,omitempty"`   // collect, setup, call, teardown: where it did not pass
	Class   string      `json:"class,omitempty"`   // of the exception
	Message string      `json:"message,omitempty"` // bounded
	InBody  bool        `json:"in_body,omitempty"` // the failure passed through the test's own body
	Missing string      `json:"missing,omitempty"` // the symbol or module that the failure says is not there

	InSources bool `json:"in_sources,omitempty"` // the failure was raised by the sources, not by the test or what helps it
}

// A CaseResult is the probe's answer to one case.
type CaseResult struct {
	ID    string `json:"id"`
	Value Value  `json:"value"`
}

// A Graft says how the bug was brought back into the agent's tree.
type Graft struct {
	Method  string   `json:"method"`  // symbols, hunks
	Symbols []string `json:"symbols"` // what was replaced
	Why     string   `json:"why"`     // why it was needed
	Defect  string   `json:"defect,omitempty"`
	Unlent  string   `json:"unlent,omitempty"` // why the references were not lent what the tests need; "" when they were, or when nothing hung on it
}

// Failing lists the cases of t that run does not answer rightly, in the task's order: those with a wrong value and,
// when the report is whole or not, those with none.
func (t *Task) Failing(run Run) []Case {
	got := make(map[string]Value, len(run.Cases))
	for _, c := range run.Cases {
		if _, twice := got[c.ID]; twice {
			c.Value = Value{Kind: KindOther, Class: "a case answered twice"}
		}
		got[c.ID] = c.Value
	}
	var out []Case
	for _, c := range t.Cases {
		if v, ok := got[c.ID]; !ok || !c.Want.Match(v) {
			out = append(out, c)
		}
	}
	return out
}
