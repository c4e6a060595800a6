package mcpserve

import (
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tare"
)

// A Tally counts and records the calls of one episode, whichever servers they come in at. Its methods may be called from
// several goroutines.
type Tally struct {
	turns  int
	onStep func(tare.Step)

	mu        sync.Mutex
	begun     int
	forgiven  int
	recorded  int
	exhausted chan struct{}
}

// NewTally counts up to turns calls, 0 for any number, and hands each to onStep, one at a time, in the order in which they
// ended. onStep may be nil.
func NewTally(turns int, onStep func(tare.Step)) *Tally {
	if onStep == nil {
		onStep = func(tare.Step) {}
	}
	return &Tally{turns: turns, onStep: onStep, exhausted: make(chan struct{})}
}

// Begin counts a call in. The first call over the limit is refused and is to be recorded, since it is what the agent
// tried; those after it only repeat it.
func (t *Tally) Begin() (refused *mcp.CallToolResult, record bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns <= 0 || t.begun < t.turns {
		t.begun++
		return nil, true
	}
	refused = Failed(fmt.Sprintf("no further calls: the limit of %d is reached", t.turns))
	select {
	case <-t.exhausted:
		return refused, false
	default:
		close(t.exhausted)
		return refused, true
	}
}

// Record gives a call that has ended its place in the order and hands it on.
func (t *Tally) Record(s tare.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Call.Index = t.recorded
	t.recorded++
	t.onStep(s)
}

// Forgive takes a call back that a fault of ours spoilt, so that it costs the agent none of those that it has. An agent gets no
// more than twice its calls, however many faults there are.
func (t *Tally) Forgive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns > 0 && t.forgiven < t.turns && t.begun > 0 {
		t.begun--
		t.forgiven++
	}
}

// Recorded says how many calls were recorded.
func (t *Tally) Recorded() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.recorded
}

// Exhausted is closed when a call was refused because the limit on calls had been reached. From then on all are.
func (t *Tally) Exhausted() <-chan struct{} { return t.exhausted }

// Failed is the answer to a call that did not do what it was asked.
func Failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Observe is the result as a record keeps it, with a preview of at most so many bytes.
func Observe(res *mcp.CallToolResult, preview int) tare.Observation {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	text := strings.Join(parts, "\n")
	return tare.Observation{
		OK:      !res.IsError,
		Preview: Ends(strings.ToValidUTF8(text, "\ufffd"), preview),
		Digest:  tare.HashBytes([]byte(text)),
		Size:    len(text),
	}
}

// Ends is s when it has no more than most bytes, else its beginning and its end, which is where a test run sums up.
func Ends(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const room = 50 // for the line between
	half := (most - room) / 2
	head := strings.ToValidUTF8(s[:half], "")
	tail := strings.ToValidUTF8(s[len(s)-half:], "")
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, len(s)-len(head)-len(tail), tail)
}
