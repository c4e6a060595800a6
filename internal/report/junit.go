package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"tare"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"` // always 0, stated for readers that want it
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string          `xml:"name,attr"`
	Class      string          `xml:"classname,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Failure    *junitProblem   `xml:"failure"`
	Error      *junitProblem   `xml:"error"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes r as JUnit XML, a suite per agent and a case per episode. PASS is a passing case and FAIL a failure whose
// type is the gate that decided. UNVERIFIED and episodes that were not played are errors, never skipped: most readers
// show a skipped case as green, and missing evidence is no success. Whether the grader is proven is a property of each
// case and does not change its outcome.
func JUnit(w io.Writer, r Result) error {
	doc := junitSuites{Name: "tare " + line(r.Run, nameLimit)}
	g := newGrid(r.Rows)
	var whole float64
	for _, agent := range g.agents {
		s := junitSuite{Name: agent}
		var total float64
		for _, row := range g.ofAgent(agent) {
			c := newCase(row)
			s.Tests++
			switch {
			case c.Failure != nil:
				s.Failures++
			case c.Error != nil:
				s.Errors++
			}
			total += row.took().Seconds()
			s.Cases = append(s.Cases, c)
		}
		s.Time = seconds(total)
		whole += total
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Suites = append(doc.Suites, s)
	}
	doc.Time = seconds(whole)
	b, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

func newCase(r Row) junitCase {
	v := r.Verdict
	c := junitCase{Name: r.task(), Class: r.agent(), Time: seconds(r.took().Seconds())}
	if r.Episode.Trial > 0 {
		c.Name += fmt.Sprintf(" · trial %d", r.Episode.Trial)
	}
	put := func(name, value string) {
		if value != "" {
			c.Properties = append(c.Properties, junitProperty{name, value})
		}
	}
	if r.HeldOut {
		put("category", string(tare.HeldOut))
	}
	if !r.played() {
		c.Error = &junitProblem{Message: "not played", Type: "not-played"}
		return c
	}
	if v.Reward != nil {
		put("reward", number(v.Reward))
	}
	put("reward_bounds", bounds(v.RewardBounds))
	put("proof", string(weakest([]Row{r}).Status))
	put("harness", harnessWord(v.Proof))
	if v.Proof.Ceiling != nil {
		put("ceiling", number(v.Proof.Ceiling))
	}
	put("cause", line(string(v.Cause), nameLimit))
	put("stop", line(string(v.Stop), nameLimit))
	put("isolation", line(v.Isolation, nameLimit))
	put("record", line(string(v.Record), nameLimit))
	put("history", strings.Join(r.history(), "\n"))
	if v.Outcome == tare.Pass {
		return c
	}
	p := &junitProblem{Message: headline(v), Type: line(v.RootGate, nameLimit)}
	if g, ok := r.root(); ok {
		p.Message = line(g.Name+": "+g.Reason, reasonLimit)
	}
	var text strings.Builder
	for _, g := range v.Gates {
		fmt.Fprintf(&text, "\n%s %s %s: %s", mark(g.Outcome), outcomeName(g.Outcome), line(g.Name, nameLimit), gateText(g))
	}
	p.Text = text.String() + "\n"
	if v.Outcome == tare.Fail {
		c.Failure = p
	} else {
		c.Error = p
	}
	return c
}
