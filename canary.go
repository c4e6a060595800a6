package tare

import "time"

// A CanarySpec is what a task of kind Canary holds besides its seed, which is the fixture as a harness gets it: planted, or
// of a clean control as it is. What is wrong with it, and the signal, are hidden from harnesses.
type CanarySpec struct {
	Planted   string       `json:"planted,omitempty"` // what is wrong with the seed, for people; "" of a clean control
	Signal    Signal       `json:"signal"`
	Phrasings []Phrasing   `json:"phrasings"` // at least two of different names, "A" and "B" for most
	Repeats   int          `json:"repeats"`   // episodes of each phrasing, at least 1
	Check     FixtureCheck `json:"check"`
	Twin      Tree         `json:"-"` // the fixture without the plant; of a clean control nil
}

// A Phrasing is one wording of the same request.
type Phrasing struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Phrasing finds the phrasing called name.
func (c *CanarySpec) Phrasing(name string) (Phrasing, bool) {
	for _, p := range c.Phrasings {
		if p.Name == name {
			return p, true
		}
	}
	return Phrasing{}, false
}

// A FixtureCheck is how tare itself shows that a signal occurs on a planted fixture and not on its clean twin.
type FixtureCheck struct {
	Argv   []string      `json:"argv"`             // with the fixture as the directory
	Runner string        `json:"runner,omitempty"` // whose tools it needs beyond the system's own: "gotest" or ""
	Wall   time.Duration `json:"wall,omitempty"`   // 0: the default of whoever runs it
}

// A SignalKind says what sort of observation a signal is.
type SignalKind string

const (
	SignalTest      SignalKind = "test"      // a test that fails, by id
	SignalException SignalKind = "exception" // an exception of that type
	SignalPlace     SignalKind = "place"     // a defect at a file, line or symbol
	SignalExit      SignalKind = "exit"      // a program's exit status
	SignalText      SignalKind = "text"      // any other words
	SignalNone      SignalKind = "none"      // no failure is reported: that of clean controls
)

// A Signal is the single observation that proves that a defect was detected. Beside the name of its kind, a file, a line or a
// symbol may say where; then that must be named too.
type Signal struct {
	Kind   SignalKind `json:"kind"`
	Name   string     `json:"name,omitempty"`   // of a test its id, of an exception its type, of a text the text
	File   string     `json:"file,omitempty"`   //
	Line   int        `json:"line,omitempty"`   // of File; 0: any
	Symbol string     `json:"symbol,omitempty"` // a function, say
	Status int        `json:"status,omitempty"` // of an exit
}

// A Said is what an agent that is a command said, whole as far as it is kept.
type Said struct {
	Exit      int    `json:"exit"`             // -1 when it did not end by itself
	Signal    string `json:"signal,omitempty"` // that ended it
	Stdout    []byte `json:"stdout,omitempty"`
	Stderr    []byte `json:"stderr,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // there was more than is kept
}

// A Usage is what an episode took of a model, as its agent counts it. What is not known is nil, which is not 0.
type Usage struct {
	InputTokens      *int64   `json:"input_tokens,omitempty"`       // all that the model read, what a cache had included
	OutputTokens     *int64   `json:"output_tokens,omitempty"`      // all that it wrote, reasoning included
	CacheReadTokens  *int64   `json:"cache_read_tokens,omitempty"`  // of the input: came from a cache
	CacheWriteTokens *int64   `json:"cache_write_tokens,omitempty"` // of the input: went into one
	ReasoningTokens  *int64   `json:"reasoning_tokens,omitempty"`   // of the output
	Dollars          *float64 `json:"dollars,omitempty"`
}

// CanaryEvidence is what was observed of a harness that was sent a canary. It holds no judgement.
type CanaryEvidence struct {
	Phrasing string      `json:"phrasing"`
	Prompt   string      `json:"prompt"`          // all that was asked
	Said     *Said       `json:"said,omitempty"`  // of a command; without it the last message is all
	Usage    *Usage      `json:"usage,omitempty"` // nil: unknown
	Fixture  *FixtureRun `json:"fixture"`         // tare's own check of the fixture that was sent; nil: it was not made
	Twin     *FixtureRun `json:"twin,omitempty"`  // of a planted one: of the fixture without the plant
}

// A FixtureRun is one run of a fixture's own check by tare.
type FixtureRun struct {
	Argv   []string `json:"argv"`
	Exit   int      `json:"exit"`
	Ended  string   `json:"ended,omitempty"` // the limit that ended it
	Output []byte   `json:"output"`          // stdout, then stderr, bounded
}
