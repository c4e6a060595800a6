// Package mockmodel is a server that speaks the APIs of language models and says what a script says. With it an agent, ours or
// anybody's, is tried without a key, a network or a bill.
//
// What is said next follows from the conversation that a request carries and from nothing else, so a request that is sent
// again gets the same answer.
package mockmodel

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/yamlfile"
)

// A Script is what the server says.
type Script struct {
	Models        []string       `yaml:"models"`        // that it lists; any name is served
	Usage         *Usage         `yaml:"usage"`         // of answers that name none
	Side          string         `yaml:"side"`          // to requests without tools that no conversation is for
	Aliases       [][]string     `yaml:"aliases"`       // names of one argument, beside the built-in ones
	Conversations []Conversation `yaml:"conversations"` // the first that fits is taken
	Steps         []Step         `yaml:"steps"`         // in the place of conversations: one that fits all
}

// A Conversation is the answers of one task.
type Conversation struct {
	Name  string            `yaml:"name"`  // in the log
	Match string            `yaml:"match"` // pattern that the system prompt or the first user message has
	Model string            `yaml:"model"` // pattern of the whole name of the model
	Tools *bool             `yaml:"tools"` // false: for requests that offer none
	Take  map[string]string `yaml:"take"`  // names to patterns with one group, taken from the conversation for {{name}}
	Steps []Step            `yaml:"steps"`

	match, model *regexp.Regexp
	take         map[string]*regexp.Regexp
}

// A Step is one answer, or a failure in its place.
type Step struct {
	Say   string `yaml:"say"`
	Think string `yaml:"think"` // the reasoning that comes with it
	Calls []Call `yaml:"calls"`
	Stop  string `yaml:"stop"` // end_turn, max_tokens, refusal; default: what fits
	Usage *Usage `yaml:"usage"`
	Delay string `yaml:"delay"` // before the answer
	Fail  *Fail  `yaml:"fail"`

	delay time.Duration
}

// A Call is a tool call of an answer.
type Call struct {
	Tool  string         `yaml:"tool"` // pattern of the name of an offered tool
	Name  string         `yaml:"name"` // or a name, offered or not
	Args  map[string]any `yaml:"args"`
	Raw   *string        `yaml:"raw"`   // in the place of args: this text, whatever it is
	Exact bool           `yaml:"exact"` // the arguments are sent under the names that they have here

	pattern patterns
}

// A Usage is counts of tokens. Input is what no cache was asked for; output includes reasoning.
type Usage struct {
	Input      int64 `yaml:"input" json:"input"`
	Output     int64 `yaml:"output" json:"output"`
	CacheRead  int64 `yaml:"cache_read" json:"cache_read,omitempty"`
	CacheWrite int64 `yaml:"cache_write" json:"cache_write,omitempty"`
	Reasoning  int64 `yaml:"reasoning" json:"reasoning,omitempty"`
	Unknown    bool  `yaml:"unknown" json:"unknown,omitempty"` // the answer says nothing of it
}

// A Fail is what goes wrong with an answer.
type Fail struct {
	Status     int               `yaml:"status"` // of HTTP; with After: an error within the stream
	Message    string            `yaml:"message"`
	Type       string            `yaml:"type"`     // of the error; default: what the API calls the status
	Body       *string           `yaml:"body"`     // in the place of the API's own form
	Headers    map[string]string `yaml:"headers"`  // besides
	Overflow   bool              `yaml:"overflow"` // the API's own answer to a conversation that is too long
	RetryAfter string            `yaml:"retry_after"`
	Cut        bool              `yaml:"cut"`   // the connection is closed in the middle
	Hang       bool              `yaml:"hang"`  // nothing more comes
	After      int               `yaml:"after"` // events of the stream that come first
	Times      int               `yaml:"times"` // requests in a row that fail so; 0: all

	retryAfter time.Duration
}

// defaultUsage is that of answers of a script that names none.
var defaultUsage = Usage{Input: 100, Output: 10}

// Parse reads a script. All that is wrong with it is said at once, each a [*yamlfile.Error].
func Parse(file string, text []byte) (*Script, error) {
	var s Script
	read, err := yamlfile.Read(file, text, &s)
	if err != nil {
		return nil, err
	}
	r := &reader{file: read}
	r.script(&s)
	return &s, errors.Join(r.problems...)
}

// A reader checks a script that was decoded.
type reader struct {
	file     *yamlfile.File
	problems []error
}

func (r *reader) fail(path, format string, args ...any) {
	r.problems = append(r.problems, r.file.Wrong(path, format, args...))
}

func (r *reader) script(s *Script) {
	switch {
	case len(s.Steps) > 0 && len(s.Conversations) > 0:
		r.fail("$.conversations", "a script has steps or conversations, not both")
	case len(s.Steps) > 0:
		s.Conversations = []Conversation{{Steps: s.Steps}}
		r.conversation("$", &s.Conversations[0])
		return
	case len(s.Conversations) == 0:
		r.fail("$", "a script takes steps or conversations")
	}
	for i := range s.Conversations {
		r.conversation(fmt.Sprintf("$.conversations[%d]", i), &s.Conversations[i])
	}
}

func (r *reader) pattern(path, text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil {
		r.fail(path, "%v", err)
		return regexp.MustCompile("")
	}
	return re
}

func (r *reader) conversation(path string, c *Conversation) {
	if len(c.Steps) == 0 {
		r.fail(path, "a conversation takes steps")
	}
	c.match = r.pattern(path+".match", c.Match)
	if c.Model == "" {
		c.Model = ".*"
	}
	c.model = r.pattern(path+".model", "^(?:"+c.Model+")$")
	c.take = map[string]*regexp.Regexp{}
	for _, name := range slices.Sorted(maps.Keys(c.Take)) {
		c.take[name] = r.pattern(path+".take."+name, c.Take[name])
		if c.take[name].NumSubexp() != 1 {
			r.fail(path+".take."+name, "the pattern of what is taken has one group, (…); this has %d", c.take[name].NumSubexp())
		}
	}
	for i := range c.Steps {
		r.step(fmt.Sprintf("%s.steps[%d]", path, i), &c.Steps[i])
	}
}

func (r *reader) step(path string, s *Step) {
	if s.empty() && s.Fail == nil {
		r.fail(path, "a step takes say, calls or fail")
	}
	switch s.Stop {
	case "", stopEnd, stopTokens, stopRefusal:
	default:
		r.fail(path+".stop", "stop is %s, %s or %s, not %q", stopEnd, stopTokens, stopRefusal, s.Stop)
	}
	s.delay = r.duration(path+".delay", s.Delay)
	for i := range s.Calls {
		r.call(fmt.Sprintf("%s.calls[%d]", path, i), &s.Calls[i])
	}
	if s.Usage != nil {
		r.usage(path+".usage", *s.Usage)
	}
	if f := s.Fail; f != nil {
		r.failure(path+".fail", f)
	}
}

func (r *reader) usage(path string, u Usage) {
	if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
		r.fail(path, "counts of tokens are not below 0")
	}
	if u.Reasoning > u.Output {
		r.fail(path, "reasoning is part of output: %d cannot be of %d", u.Reasoning, u.Output)
	}
}

func (r *reader) call(path string, c *Call) {
	if (c.Tool == "") == (c.Name == "") {
		r.fail(path, "a call takes tool, a pattern of the names that are offered, or name")
		return
	}
	if c.Raw != nil && c.Args != nil {
		r.fail(path+".raw", "a call takes args or raw, not both")
	}
	if c.Tool != "" {
		c.pattern = patterns{whole: r.pattern(path+".tool", "^(?:"+c.Tool+")$"), end: r.pattern(path+".tool", "(?:^|[^0-9A-Za-z])(?:"+c.Tool+")$")}
	}
}

func (r *reader) failure(path string, f *Fail) {
	kinds := 0
	for _, is := range []bool{f.Status != 0, f.Overflow, f.Cut, f.Hang} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		r.fail(path, "fail takes one of status, overflow, cut, hang")
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		r.fail(path+".status", "the status of a failure is from 400 to 599, not %d", f.Status)
	}
	if f.Times < 0 || f.After < 0 {
		r.fail(path, "times and after are not below 0")
	}
	f.retryAfter = r.duration(path+".retry_after", f.RetryAfter)
}

// duration reads "1.5s", and a bare number as seconds.
func (r *reader) duration(path, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		r.fail(path, "%q is no length of time; 1.5s is one", text)
	}
	return d
}

func (s *Step) empty() bool { return s.Say == "" && s.Think == "" && len(s.Calls) == 0 && s.Stop == "" }

// span is how many positions of a conversation a step takes: one for each call, one for an answer without, none for a failure
// in the place of an answer.
func (s *Step) span() int {
	if s.empty() {
		return 0
	}
	return max(1, len(s.Calls))
}

// patterns find a tool by name: a whole name before the end of one, since clients put the name of a server before it.
type patterns struct{ whole, end *regexp.Regexp }

func (p patterns) find(tools []offered) (offered, bool) {
	for _, re := range []*regexp.Regexp{p.whole, p.end} {
		for _, t := range tools {
			if re.MatchString(t.full()) {
				return t, true
			}
		}
	}
	return offered{}, false
}

// filled is text with what was taken of the conversation in the place of {{name}}.
func filled(text string, taken map[string]string) string {
	for name, value := range taken {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}
