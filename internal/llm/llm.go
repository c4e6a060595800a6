// Package llm asks language models, one turn at a time, by the APIs that they are served with: Anthropic Messages, OpenAI
// Responses, and OpenAI Chat Completions, which many other servers speak.
package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tare"
)

// A Model answers a conversation. Its methods may be called from several goroutines.
type Model interface {
	// Name is the model's, without its API.
	Name() string

	// Turn asks for what comes next. An error is ctx's or a *Failure.
	Turn(ctx context.Context, req Request) (Turn, error)
}

// A Request is a conversation as it stands, and what the model may call.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int64 // of the answer; 0: the default of the API's service, or [DefaultMaxTokens] where it must be said
}

// DefaultMaxTokens bounds an answer where the API wants a bound.
const DefaultMaxTokens = 16384

// A Role says who speaks.
type Role string

const (
	User      Role = "user" // a person, and the results of tools
	Assistant Role = "assistant"
)

// A Message is what one of them said.
type Message struct {
	Role   Role
	Blocks []Block
}

// A Kind says what a Block is.
type Kind string

const (
	Text       Kind = "text"
	ToolUse    Kind = "tool_use"
	ToolResult Kind = "tool_result"
	Thinking   Kind = "thinking" // goes back to the service as it came; Text is what can be read of it
)

// A Block is a piece of a message. Which fields count is said by Kind.
type Block struct {
	Kind Kind
	Text string // what is said, thought, or came back from a tool
	ID   string // of the call
	Name string // of the tool
	Args string // of a call, as the model wrote them: JSON if it did well
	Fail bool   // of a result: the tool did not do what it was asked

	opaque json.RawMessage // of thinking: the service's own form
}

// A Tool is what the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of an object
}

// A Stop says why an answer ended.
type Stop string

const (
	EndTurn   Stop = "end_turn"
	Calls     Stop = "tool_use"
	MaxTokens Stop = "max_tokens"
	Refusal   Stop = "refusal"
	Paused    Stop = "pause_turn" // the same conversation, with this answer, is to be sent again
)

// A Turn is one answer.
type Turn struct {
	Blocks []Block
	Stop   Stop
	Usage  tare.Usage // of this answer; what the service did not say is nil, and Dollars always is
	Lost   int        // tries before it that had begun to answer: what they took is unknown
	Tries  int        // how often it was asked, from 1
}

// Text is what was said.
func (t Turn) Text() string {
	var parts []string
	for _, b := range t.Blocks {
		if b.Kind == Text && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Calls are the tool calls, in order.
func (t Turn) Calls() []Block {
	var out []Block
	for _, b := range t.Blocks {
		if b.Kind == ToolUse {
			out = append(out, b)
		}
	}
	return out
}

// A Failure is a service that did not answer.
type Failure struct {
	Status   int    // of HTTP; 0: there was no answer, or it broke off
	Message  string // what it said
	Overflow bool   // the conversation is longer than the model takes
	Tries    int    // how often it was asked
	Lost     int    // tries that had begun to answer

	retry      bool // another try may do better
	retryAfter time.Duration
	unwilling  string // of a request's part that this model does not take
	cause      error
}

func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString("the model's service ")
	switch {
	case f.Overflow:
		b.WriteString("says that the conversation is too long for the model")
	case f.Status != 0:
		fmt.Fprintf(&b, "answered with status %d", f.Status)
	default:
		b.WriteString("did not answer to the end")
	}
	if f.Tries > 1 {
		fmt.Fprintf(&b, " (tried %d times)", f.Tries)
	}
	if f.Message != "" {
		b.WriteString(": " + f.Message)
	}
	return b.String()
}

func (f *Failure) Unwrap() error { return f.cause }

// Options say how a service is reached.
type Options struct {
	BaseURL string
	Key     string
	Token   string // of Anthropic, in the place of a key
	HTTP    *http.Client
	Tries   int                                        // at most, of one turn; default DefaultTries
	Sleep   func(context.Context, time.Duration) error // default: waits
}

// DefaultTries is how often a turn is asked for at most.
const DefaultTries = 6

// New returns a model by its API: anthropic, openai, or openai-chat.
func New(api, name string, o Options) (Model, error) {
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	if o.Tries == 0 {
		o.Tries = DefaultTries
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	m := &model{name: name, options: o}
	switch api {
	case "anthropic":
		m.wire = newAnthropic(name, o)
	case "openai":
		m.wire = newResponses(name, o)
	case "openai-chat":
		m.wire = newChat(name, o)
	default:
		return nil, fmt.Errorf("there is no API %q; there are %s", api, strings.Join(APIs(), ", "))
	}
	return m, nil
}

// APIs are the names that New takes.
func APIs() []string { return []string{"anthropic", "openai", "openai-chat"} }

// A wire asks once. An error is a *Failure or ctx's; begun says that an answer had begun.
type wire interface {
	ask(ctx context.Context, req Request) (t Turn, begun bool, err error)
}

type model struct {
	name    string
	options Options
	wire    wire
}

func (m *model) Name() string { return m.name }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func number(n int64, known bool) *int64 {
	if !known {
		return nil
	}
	return &n
}

// sum is the sum of what is known; nil when one is not.
func sum(parts ...*int64) *int64 {
	var n int64
	for _, p := range parts {
		if p == nil {
			return nil
		}
		n += *p
	}
	return &n
}

// object is a schema that services take for the arguments of a tool.
func object(schema json.RawMessage) map[string]any {
	var m map[string]any
	if json.Unmarshal(schema, &m) != nil || m == nil {
		m = map[string]any{}
	}
	if m["type"] == nil {
		m["type"] = "object"
	}
	if m["type"] == "object" && m["properties"] == nil {
		m["properties"] = map[string]any{}
	}
	return m
}

// jsonObject reports whether text is an object in JSON.
func jsonObject(text string) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &m) == nil && m != nil
}
