package preset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tare"
)

// An Output says what an agent prints.
type Output struct {
	Form     string            `yaml:"form"`     // json: one document; array: one, of events; lines: an event a line; text: the last message
	Final    []Rule            `yaml:"final"`    // the last one that is found is the last message
	Errors   []Rule            `yaml:"errors"`   // an error that no last message comes after; the first rule that fits an event counts
	Messages []Rule            `yaml:"messages"` // what it said on the way
	Usage    map[string][]Rule `yaml:"usage"`    // fields of tare.Usage, each the sum of what is found
}

// A Rule finds something in an event.
type Rule struct {
	When   map[string]any `yaml:"when"`   // values that stand at paths; {like: PATTERN} for a text that has it
	Take   string         `yaml:"take"`   // path of what is found: names between dots, * for each of a list or of an object
	Stderr string         `yaml:"stderr"` // in the place of both: a pattern of a line on stderr, whose group, if there is one, is found
	Stop   string         `yaml:"stop"`   // of errors: what the episode ended by; default agent_crash

	like   map[string]*regexp.Regexp
	stderr *regexp.Regexp
}

// What an agent printed.
type Printed struct {
	Final    string
	HasFinal bool // there is a last message, be it an empty one
	Error    string
	Stop     tare.StopReason // of the error
	Messages []Message
	Usage    *tare.Usage // nil: nothing is known
	Broken   string      // why it is not of the form that it should have
}

// A Message is something that was said.
type Message struct {
	Offset int // where its event begins on stdout
	Text   string
}

var forms = []string{"json", "array", "lines", "text"}

var usageFields = map[string]bool{"input_tokens": true, "output_tokens": true, "cache_read_tokens": true, "cache_write_tokens": true, "reasoning_tokens": true, "dollars": true}

var stops = []tare.StopReason{tare.ProviderError, tare.TurnLimit, tare.TokenLimit, tare.BudgetLimit, tare.Refusal, tare.AgentCrash}

func (c *checker) output() {
	o := &c.p.Output
	if !slices.Contains(forms, o.Form) {
		c.fail("$.output", "form is one of %s, not %q", strings.Join(forms, ", "), o.Form)
	}
	if o.Form != "text" && len(o.Final) == 0 {
		c.fail("$.output", "final is missing: without it nothing tells an agent that is done from one that is not")
	}
	c.rules("$.output.final", o.Final, false)
	c.rules("$.output.errors", o.Errors, true)
	c.rules("$.output.messages", o.Messages, false)
	for name, rules := range o.Usage {
		if !usageFields[name] {
			c.fail("$.output.usage."+name, "there is no usage %q", name)
		}
		c.rules("$.output.usage."+name, rules, false)
	}
}

func (c *checker) rules(at string, rules []Rule, ofErrors bool) {
	for i := range rules {
		r, here := &rules[i], fmt.Sprintf("%s[%d]", at, i)
		if (r.Take == "") == (r.Stderr == "") {
			c.fail(here, "a rule has take, the path of what is found, or stderr, the pattern of a line")
		}
		if !ofErrors && (r.Stop != "" || r.Stderr != "") {
			c.fail(here, "stop and stderr are of errors")
		}
		if r.Stop != "" && !slices.Contains(stops, tare.StopReason(r.Stop)) {
			c.fail(here+".stop", "stop is one of %v, not %q", stops, r.Stop)
		}
		if r.Stderr != "" {
			re, err := regexp.Compile(r.Stderr)
			if err != nil {
				c.fail(here+".stderr", "%v", err)
			}
			r.stderr = re
		}
		r.like = map[string]*regexp.Regexp{}
		for path, want := range r.When {
			m, ok := want.(map[string]any)
			if !ok {
				continue
			}
			text, ok := m["like"].(string)
			if !ok || len(m) != 1 {
				c.fail(here+".when", "%s is a value or {like: PATTERN}", path)
				continue
			}
			re, err := regexp.Compile(text)
			if err != nil {
				c.fail(here+".when", "%s: %v", path, err)
				continue
			}
			r.like[path] = re
		}
	}
}

// An event is one document of an output.
type event struct {
	offset int
	value  any
}

// Read reads what an agent printed.
func (o Output) Read(stdout, stderr []byte) Printed {
	var p Printed
	var events []event
	switch o.Form {
	case "text":
		p.Final, p.HasFinal = strings.TrimSpace(strings.ToValidUTF8(string(stdout), "\ufffd")), len(bytes.TrimSpace(stdout)) > 0
	case "lines":
		events = lines(stdout)
	default:
		events, p.Broken = documents(stdout, o.Form == "array")
	}
	if o.Form == "lines" && len(events) == 0 {
		p.Broken = "no line of its output is a JSON object"
	}
	for _, e := range events {
		o.event(e, &p)
	}
	if !p.HasFinal || o.Form == "text" {
		o.stderrLines(stderr, &p)
	}
	p.Usage = o.usage(events)
	return p
}

// event takes what one event says.
func (o Output) event(e event, p *Printed) {
	for _, r := range o.Messages {
		if text, ok := r.text(e.value); ok {
			p.Messages = append(p.Messages, Message{e.offset, text})
		}
	}
	for _, r := range o.Final {
		if text, ok := r.text(e.value); ok {
			p.Final, p.HasFinal, p.Error, p.Stop = text, true, "", ""
		}
	}
	for _, r := range o.Errors {
		if text, ok := r.text(e.value); ok {
			p.fail(r, text)
			break
		}
	}
}

// fail notes an error. A turn that it ended has no last message.
func (p *Printed) fail(r Rule, text string) {
	p.Error, p.Stop = text, tare.StopReason(r.Stop)
	if p.Error == "" {
		p.Error = "an error without a text"
	}
	if p.Stop == "" {
		p.Stop = tare.AgentCrash
	}
}

func (o Output) stderrLines(stderr []byte, p *Printed) {
	for line := range bytes.Lines(stderr) {
		text := strings.ToValidUTF8(strings.TrimSpace(string(line)), "\ufffd")
		for _, r := range o.Errors {
			if r.stderr == nil {
				continue
			}
			if m := r.stderr.FindStringSubmatch(text); m != nil {
				p.fail(r, m[len(m)-1])
				return
			}
		}
	}
}

// lines are the lines of an output that are JSON objects; agents print others too.
func lines(out []byte) []event {
	var events []event
	offset := 0
	for line := range bytes.Lines(out) {
		var v map[string]any
		if decode(bytes.NewReader(line), &v) == nil && v != nil {
			events = append(events, event{offset, v})
		}
		offset += len(line)
	}
	return events
}

// rereads is how often an output is read from its places where a document might begin: one that is made of beginnings would be read
// as often as it has bytes.
const rereads = 4

// documents is the one document of an output, or what is in it. Agents print warnings before it, and sometimes after it.
func documents(out []byte, array bool) (events []event, broken string) {
	open := byte('{')
	if array {
		open = '['
	}
	left := rereads*len(out) + 1<<20
	for at := 0; ; at++ {
		i := bytes.IndexByte(out[at:], open)
		if i < 0 || left < 0 {
			return nil, "its output is not the JSON that it should be"
		}
		at += i
		if at > 0 && out[at-1] != '\n' {
			continue
		}
		var v any
		rest := bytes.NewReader(out[at:])
		err := decode(rest, &v)
		left -= len(out) - at - rest.Len()
		if err != nil {
			continue
		}
		list, ok := v.([]any)
		if !array {
			return []event{{at, v}}, ""
		}
		if ok {
			for _, v := range list {
				events = append(events, event{at, v})
			}
			return events, ""
		}
	}
}

func decode(r io.Reader, v any) error {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	return dec.Decode(v)
}

// usage is what the fields' rules find, added up; nil where they find nothing.
func (o Output) usage(events []event) *tare.Usage {
	var u tare.Usage
	known := false
	whole := map[string]**int64{
		"input_tokens": &u.InputTokens, "output_tokens": &u.OutputTokens, "cache_read_tokens": &u.CacheReadTokens,
		"cache_write_tokens": &u.CacheWriteTokens, "reasoning_tokens": &u.ReasoningTokens,
	}
	for name, rules := range o.Usage {
		sum, found := 0.0, false
		for _, e := range events {
			for _, r := range rules {
				for _, v := range r.find(e.value) {
					n, ok := v.(json.Number)
					if !ok {
						continue
					}
					if f, err := n.Float64(); err == nil && f >= 0 && f < 1<<53 {
						sum, found = sum+f, true
					}
				}
			}
		}
		if !found {
			continue
		}
		known = true
		if name == "dollars" {
			u.Dollars = &sum
		} else {
			n := int64(sum)
			*whole[name] = &n
		}
	}
	if !known {
		return nil
	}
	return &u
}

// find is what a rule finds in an event.
func (r Rule) find(v any) []any {
	if r.stderr != nil {
		return nil
	}
	for path, want := range r.When {
		got := at(v, path)
		like := r.like[path]
		if !slices.ContainsFunc(got, func(g any) bool {
			if like != nil {
				s, ok := g.(string)
				return ok && like.MatchString(s)
			}
			return fmt.Sprint(g) == fmt.Sprint(want)
		}) {
			return nil
		}
	}
	return at(v, r.Take)
}

// text is what a rule finds, as a text.
func (r Rule) text(v any) (string, bool) {
	var parts []string
	for _, f := range r.find(v) {
		switch f := f.(type) {
		case nil:
		case string:
			parts = append(parts, f)
		default:
			s, err := inJSON(f)
			if err == nil {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(parts, "\n"), parts != nil
}

// at is what stands at a path: "a.b", "a.*.b".
func at(v any, path string) []any {
	name, rest, more := strings.Cut(path, ".")
	var next []any
	switch v := v.(type) {
	case map[string]any:
		if name == "*" {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				next = append(next, v[k])
			}
		} else if x, ok := v[name]; ok {
			next = append(next, x)
		}
	case []any:
		if name == "*" {
			next = v
		}
	}
	if !more {
		return next
	}
	var out []any
	for _, n := range next {
		out = append(out, at(n, rest)...)
	}
	return out
}
