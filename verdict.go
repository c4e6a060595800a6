package tare

// An Outcome is one of three answers. The zero value is no answer and never valid in a verdict.
type Outcome string

const (
	Pass       Outcome = "PASS"
	Fail       Outcome = "FAIL"
	Unverified Outcome = "UNVERIFIED"

	// Only gates:
	Blocked       Outcome = "BLOCKED" // can no longer be reached; BlockedBy names the root
	NotApplicable Outcome = "NA"
)

// A Cause says whose doing it is that a verdict is not PASS.
type Cause string

const (
	CauseAgent          Cause = "agent"
	CauseTask           Cause = "task"
	CauseGrader         Cause = "grader"
	CauseInfrastructure Cause = "infrastructure"
)

// A Need says what a gate's answer does to the verdict.
type Need string

const (
	Required Need = "required"
	Optional Need = "optional" // may be NA or UNVERIFIED, may not FAIL
	Advisory Need = "advisory" // is shown and changes nothing
)

// Names of gates.
const (
	GateInfrastructure = "infrastructure"
	GateIntegrity      = "integrity"
	GateVisibleTests   = "visible_tests"
	GateBehaviour      = "behaviour"
	GateRegressionTest = "regression_test"
	GateClaims         = "claims"

	GateRan       = "ran"
	GateDetection = "detection"

	GatePatch           = "patch"
	GateBuild           = "build"
	GatePoCs            = "pocs"
	GateIntentTests     = "intent_tests"
	GateFunctionalTests = "functional_tests"

	GateContract   = "contract"
	GateRoute      = "route"
	GateErrors     = "errors"
	GateEffects    = "effects"
	GateMinefields = "minefields"
	GateSecurity   = "security"
	GateProvenance = "provenance"
	GateGoal       = "goal"
)

// A Gate is one question that the oracle answered from the record.
type Gate struct {
	Name        string   `json:"name"`
	Outcome     Outcome  `json:"outcome"`
	Need        Need     `json:"need"`
	Reason      string   `json:"reason"` // a sentence that a person can act on
	Requirement int      `json:"requirement,omitempty"`
	Evidence    []string `json:"evidence,omitempty"` // ids of runs, "step:N" for calls
	BlockedBy   string   `json:"blocked_by,omitempty"`
	Seconds     float64  `json:"seconds"` // of the runs behind it
}

// A Verdict is all gates, the folded outcome and the reward.
type Verdict struct {
	Schema       string      `json:"schema"`
	Task         string      `json:"task"`
	TaskHash     Digest      `json:"task_hash"`
	Record       Digest      `json:"record"`
	Outcome      Outcome     `json:"outcome"`
	Cause        Cause       `json:"cause,omitempty"`
	Reward       *float64    `json:"reward"` // nil when UNVERIFIED, never 0 for want of evidence
	RewardBounds [2]float64  `json:"reward_bounds"`
	RootGate     string      `json:"root_gate,omitempty"`
	Gates        []Gate      `json:"gates"`
	Stop         StopReason  `json:"stop"`
	Unfinished   bool        `json:"unfinished"`
	Unresolved   []string    `json:"unresolved,omitempty"`
	Proof        Proof       `json:"proof"`
	Isolation    string      `json:"isolation"`
	Supersedes   Digest      `json:"supersedes,omitempty"`
	Correction   *Correction `json:"correction,omitempty"` // of a verdict that supersedes another
	Grader       Digest      `json:"grader,omitempty"`
}

// A Correction says why there is a further verdict on an episode.
type Correction struct {
	Changed []Changed `json:"changed"`       // since the verdict that it supersedes
	Why     string    `json:"why,omitempty"` // in somebody's own words
	By      string    `json:"by,omitempty"`
}

// A Changed is what is another than it was, so that a verdict moved.
type Changed string

const (
	ChangedGrader      Changed = "grader"      // the code that judges
	ChangedExpectation Changed = "expectation" // what the task says should be so
	ChangedReview      Changed = "review"      // a person looked up what was not observed
	ChangedNothing     Changed = "nothing"     // the same grader says something else of the same record: a verdict was altered, or judging is not pure
)

// Standing is the verdict of an episode that counts, of all that there are, the oldest first. It is the latest, except that no
// correction turns a failure into a success: then it is the last that failed. The work that is to count as done is done anew.
func Standing(chain []Verdict) Verdict {
	if len(chain) == 0 {
		return Verdict{}
	}
	latest := chain[len(chain)-1]
	if latest.Outcome != Pass {
		return latest
	}
	for i := len(chain) - 2; i >= 0; i-- {
		if chain[i].Outcome == Fail {
			return chain[i]
		}
	}
	return latest
}

// A Proof says whether the grader behind a verdict has been shown to tell right from wrong.
type Proof struct {
	Status      ProofStatus `json:"status"`
	Certificate Digest      `json:"certificate,omitempty"`
	Ceiling     *float64    `json:"ceiling,omitempty"` // of any score that rests on it; nil when unknown
	Harness     *Harness    `json:"harness,omitempty"` // what canaries showed of the adapter; nil where there is none between agent and rig
}

// A Harness says how far canaries have shown that an adapter can report a failure: Proven when all came out right, Partly when
// some did not, Stale when they speak of something else than what is there now, Unproven when none were sent.
type Harness struct {
	Status      ProofStatus `json:"status"`
	Certificate Digest      `json:"certificate,omitempty"`
	Manifest    string      `json:"manifest,omitempty"` // where the canaries are from
	Planted     int         `json:"planted,omitempty"`
	Clean       int         `json:"clean,omitempty"`
	Sensitivity *[2]float64 `json:"sensitivity,omitempty"` // the interval at 95 %
}

// A ProofStatus is the state of a proof.
type ProofStatus string

const (
	Proven   ProofStatus = "proven"
	Partly   ProofStatus = "partly"
	Stale    ProofStatus = "stale"
	Unproven ProofStatus = "none"
)

// Gate finds the gate called name.
func (v Verdict) Gate(name string) (Gate, bool) {
	for _, g := range v.Gates {
		if g.Name == name {
			return g, true
		}
	}
	return Gate{}, false
}

// Fold is the outcome of gates, and the name of the gate that decided it: the first required or optional one that is
// FAIL, else the first required one that is anything but PASS, else PASS. No gates that count are UNVERIFIED.
func Fold(gates []Gate) (Outcome, string) {
	counted := 0
	for _, g := range gates {
		if g.Need == Advisory {
			continue
		}
		counted++
		if g.Outcome == Fail {
			return Fail, g.Name
		}
	}
	for _, g := range gates {
		if g.Need == Required && g.Outcome != Pass {
			root := g.Name
			if g.Outcome == Blocked && g.BlockedBy != "" {
				root = g.BlockedBy
			}
			return Unverified, root
		}
		// An optional gate must still have an answer.
		if g.Need == Optional && g.Outcome == "" {
			return Unverified, g.Name
		}
	}
	if counted == 0 {
		return Unverified, ""
	}
	return Pass, ""
}
