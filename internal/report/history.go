package report

import (
	"fmt"

	"tare"
)

// history tells, a line for each, which verdicts an episode has had, where there is more than one: the first as it was, and what
// moved it since.
func (r Row) history() []string {
	if len(r.History) < 2 {
		return nil
	}
	var out []string
	for i, v := range r.History {
		s := fmt.Sprintf("verdict %d: %s", i+1, outcomeName(v.Outcome))
		if v.RootGate != "" {
			s += ", decided by " + line(v.RootGate, nameLimit)
		}
		if i > 0 {
			s += "; " + corrected(v.Correction)
		}
		out = append(out, s)
	}
	if latest := r.History[len(r.History)-1]; latest.Outcome != tare.Standing(r.History).Outcome {
		out = append(out, "It counts as "+outcomeName(tare.Standing(r.History).Outcome)+": no correction makes a success of a failure. Play it again for another answer.")
	}
	return out
}

// corrected says what a correction says of itself.
func corrected(c *tare.Correction) string {
	if c == nil {
		return "it does not say why"
	}
	s := "changed:"
	for i, what := range c.Changed {
		if i > 0 {
			s += ","
		}
		s += " " + line(string(what), nameLimit)
	}
	if c.Why != "" {
		s += "; " + line(c.Why, reasonLimit)
	}
	if c.By != "" {
		s += " (" + line(c.By, nameLimit) + ")"
	}
	return s
}
