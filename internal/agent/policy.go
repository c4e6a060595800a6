package agent

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"tare"
	"tare/internal/yamlfile"
)

//go:embed policies/*.yaml
var policies embed.FS

// A Policy says how a model is made to work: what it is told, and what must be so before its word that it is done is taken.
type Policy struct {
	Name      string `yaml:"name"`
	System    string `yaml:"system"`     // the system prompt
	Prompt    string `yaml:"prompt"`     // the first message, with {{brief}} where the task goes; default: the task
	BeforeEnd []Rule `yaml:"before_end"` // in order; the first that is not kept is said
	Reminders *int   `yaml:"reminders"`  // of rules, at most; then its word is taken. Default 3
	Approval  string `yaml:"approval"`   // asked before the end is taken; "": nothing is asked

	digest tare.Digest
}

// A Rule is something that must have been done before the end. One that asks for no tool is said once.
type Rule struct {
	Tool   string            `yaml:"tool"`   // pattern of whole names: a call of one must have worked. A rule for tools that the world does not have is kept.
	Where  string            `yaml:"where"`  // pattern of whole names: the rule counts where the world has such a tool
	After  string            `yaml:"after"`  // pattern of whole names: after the last call of one that worked; without one the rule is kept
	Args   map[string]string `yaml:"args"`   // patterns of its arguments
	Result map[string]any    `yaml:"result"` // fields of its structured result, where it has them
	Say    string            `yaml:"say"`

	tool, where, after *regexp.Regexp
	args               map[string]*regexp.Regexp
}

// BuiltinPolicies are the names of the policies that come with tare.
func BuiltinPolicies() []string {
	entries, err := policies.ReadDir("policies")
	if err != nil {
		panic(err) // embedded
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return out
}

// BuiltinPolicy finds one of them.
func BuiltinPolicy(name string) (Policy, bool) {
	text, err := policies.ReadFile(path.Join("policies", name+".yaml"))
	if err != nil {
		return Policy{}, false
	}
	p, err := ParsePolicy(name+".yaml", text)
	if err != nil {
		panic(err) // embedded
	}
	return p, true
}

// ID is the policy's name and the beginning of its text's hash: another text is another policy.
func (p Policy) ID() string {
	return p.Name + "@" + strings.TrimPrefix(string(p.digest), "sha256:")[:8]
}

// ParsePolicy reads a policy; what is wrong is said with its line and column.
func ParsePolicy(file string, text []byte) (Policy, error) {
	var p Policy
	read, err := yamlfile.Read(file, text, &p)
	if err != nil {
		return Policy{}, err
	}
	fail := read.Wrong
	var problems []error
	pattern := func(at, text string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		re, err := regexp.Compile("^(?:" + text + ")$")
		if err != nil {
			problems = append(problems, fail(at, "%v", err))
		}
		return re
	}
	if p.Name == "" || strings.ContainsAny(p.Name, "@/ \n") {
		problems = append(problems, fail("$.name", "a policy has a name, without spaces, @ and /"))
	}
	if p.System == "" && p.Prompt == "" {
		problems = append(problems, fail("$", "a policy has a system prompt or a prompt"))
	}
	if p.Prompt != "" && !strings.Contains(p.Prompt, "{{brief}}") {
		problems = append(problems, fail("$.prompt", "the prompt has no {{brief}}, so that the task would not be shown"))
	}
	for i := range p.BeforeEnd {
		r, at := &p.BeforeEnd[i], fmt.Sprintf("$.before_end[%d]", i)
		if r.Say == "" {
			problems = append(problems, fail(at, "a rule has something to say where it is not kept"))
		}
		r.tool, r.where, r.after = pattern(at+".tool", r.Tool), pattern(at+".where", r.Where), pattern(at+".after", r.After)
		r.args = map[string]*regexp.Regexp{}
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			re, err := regexp.Compile(r.Args[name])
			if err != nil {
				problems = append(problems, fail(at+".args."+name, "%v", err))
			}
			r.args[name] = re
		}
	}
	p.digest = tare.HashBytes(text)
	return p, errors.Join(problems...)
}

// defaultReminders is how often a model that says it is done is sent back at most.
const defaultReminders = 3

func (p Policy) reminders() int {
	if p.Reminders == nil {
		return defaultReminders
	}
	return *p.Reminders
}

// first is the first message.
func (p Policy) first(brief string) string {
	if p.Prompt == "" {
		return brief
	}
	return strings.ReplaceAll(p.Prompt, "{{brief}}", brief)
}

// A deed is a call that was made.
type deed struct {
	tool string
	args map[string]any
	ok   bool
	data map[string]any
}

// broken is the first rule that is not kept, by what was done and has been said already; -1 where all are.
func (p Policy) broken(offered []string, deeds []deed, said map[int]bool) int {
	for i, r := range p.BeforeEnd {
		if !r.kept(offered, deeds, said[i]) {
			return i
		}
	}
	return -1
}

func (r Rule) kept(offered []string, deeds []deed, said bool) bool {
	has := func(re *regexp.Regexp) bool { return slices.ContainsFunc(offered, re.MatchString) }
	switch {
	case r.where != nil && !has(r.where):
		return true
	case r.tool == nil:
		return said
	case !has(r.tool):
		return true
	}
	from := 0
	if r.after != nil {
		for i, d := range deeds {
			if d.ok && r.after.MatchString(d.tool) {
				from = i + 1
			}
		}
		if from == 0 {
			return true
		}
	}
	return slices.ContainsFunc(deeds[from:], r.fits)
}

func (r Rule) fits(d deed) bool {
	if !d.ok || !r.tool.MatchString(d.tool) {
		return false
	}
	for name, re := range r.args {
		text, ok := d.args[name].(string)
		if !ok || !re.MatchString(text) {
			return false
		}
	}
	for name, want := range r.Result {
		got, ok := d.data[name]
		if !ok {
			continue // a tool that does not tell
		}
		a, errA := json.Marshal(want)
		b, errB := json.Marshal(got)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}
