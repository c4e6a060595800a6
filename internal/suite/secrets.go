package suite

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"tare"
)

// A Secret is something that an agent must not be able to read before it has finished.
type Secret struct {
	Name string // what it is, for the message of a leak scan
	Data []byte // the bytes to look for
}

// tripwire is a unique string that an author puts into hidden files.
var tripwire = regexp.MustCompile(`tripwire-[0-9a-f]{16,64}`)

const (
	minSecret   = 24 // bytes of a file's content, or of a line, that are worth looking for
	minExpected = 12 // bytes of an expected text or number
)

// Secrets lists what a leak scan looks for in all that the agent of t can reach: the content of each hidden file, of
// each file of references, genuine and worthless tests, twins and other controls; the longest line of each that is not
// in the seed, for a leak of a part; expected values that are distinctive; expectations of a scenario; tripwires. What the agent gets rightly, in
// seed or ticket, is left out, and nothing is listed twice. The data is shared with t.
func Secrets(t *tare.Task) []Secret {
	c := collector{given: given(t), seen: map[string]bool{}}
	for _, f := range t.Hidden {
		c.file("hidden file "+f.Path, f.Data)
	}
	for _, r := range t.References {
		c.tree("reference "+r.Name, r.Fix)
		c.tree("genuine test of reference "+r.Name, r.Test)
	}
	for _, w := range t.Twins {
		c.tree("twin "+w.Name, w.Tree)
	}
	for _, control := range t.Controls {
		for _, over := range control.Apply {
			c.tree("control "+control.Name, over)
		}
	}
	if t.Scenario != nil {
		c.scenario(t.Scenario)
	}
	if t.Canary != nil {
		c.add("what is planted", []byte(t.Canary.Planted))
		for _, change := range t.Seed.Changes(t.Canary.Twin) {
			if f, ok := t.Canary.Twin.Lookup(change.Path); ok && t.Canary.Twin != nil {
				c.file("the fixture without its plant, "+f.Path, f.Data)
			}
		}
	}
	for _, k := range t.Cases {
		c.want("expected value of case "+k.ID, k.Want)
	}
	return c.out
}

// given is all that the agent of t is handed.
func given(t *tare.Task) [][]byte {
	out := [][]byte{[]byte(t.Ticket), []byte(t.Title)}
	for _, f := range t.Seed {
		out = append(out, f.Data)
	}
	return out
}

// scenario adds what the author of a scenario expects. What its scripted agents say at the end is what any agent might.
func (c *collector) scenario(s *tare.ScenarioSpec) {
	expected := slices.Clone(s.Goal)
	for _, p := range s.Checkpoints {
		expected = append(expected, p.See...)
	}
	if s.Cleanup != nil {
		expected = append(expected, s.Cleanup.Leaves...)
	}
	for _, e := range expected {
		if len(e.That) >= minSecret {
			c.add("expectation "+e.ID, []byte(e.That))
		}
	}
	for _, r := range s.Claims {
		if len(r.Holds) >= minSecret {
			c.add("claim "+r.ID, []byte(r.Holds))
		}
	}
}

type collector struct {
	given [][]byte
	seen  map[string]bool
	out   []Secret
}

func (c *collector) add(name string, data []byte) {
	if c.seen[string(data)] {
		return
	}
	c.seen[string(data)] = true
	for _, g := range c.given {
		if bytes.Contains(g, data) {
			return
		}
	}
	c.out = append(c.out, Secret{name, data})
}

func (c *collector) tree(name string, t tare.Tree) {
	for _, f := range t {
		c.file(name+": "+f.Path, f.Data)
	}
}

func (c *collector) file(name string, data []byte) {
	whole := bytes.TrimSpace(data)
	if len(whole) < minSecret || c.seen["file "+string(whole)] {
		return
	}
	c.seen["file "+string(whole)] = true
	c.add(name, whole)
	for _, m := range tripwire.FindAll(data, -1) {
		c.add("tripwire in "+name, m)
	}
	var longest []byte
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) >= max(minSecret, len(longest)+1) && !c.isGiven(line) {
			longest = line
		}
	}
	if longest != nil {
		c.add("a line of "+name, longest)
	}
}

func (c *collector) isGiven(data []byte) bool {
	for _, g := range c.given {
		if bytes.Contains(g, data) {
			return true
		}
	}
	return false
}

// want adds the texts and numbers of an expected value that are too long to be anywhere by chance.
func (c *collector) want(name string, w tare.Want) {
	if w.Exact != nil {
		c.value(name, *w.Exact)
	}
	for _, o := range w.AnyOf {
		c.want(name, o)
	}
}

func (c *collector) value(name string, v tare.Value) {
	data := []byte(v.Text)
	if v.Kind == tare.KindBytes {
		data, _ = base64.StdEncoding.DecodeString(v.Text) // the loader wrote it
	}
	if len(strings.TrimSpace(string(data))) >= minExpected {
		c.add(name, data)
	}
	for _, item := range v.Items {
		c.value(name, item)
	}
	for _, p := range v.Pairs {
		c.value(name, p[0])
		c.value(name, p[1])
	}
}
