package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tare"
)

// CertificateSchema is the schema of a certificate's entry.
const CertificateSchema = "tare.certificate/1"

// A Certificate binds a proof to all that it speaks of. When any of these changes, it is stale.
type Certificate struct {
	Schema      string      `json:"schema"`
	Task        string      `json:"task"`
	TaskHash    tare.Digest `json:"task_hash"`
	Grader      tare.Digest `json:"grader"`
	Adversaries tare.Digest `json:"adversaries"`
	Isolation   string      `json:"isolation"`
	Tools       string      `json:"tools"` // interpreter and test runner with their versions
	Table       tare.Digest `json:"table"`
	Controls    int         `json:"controls"`
	Whole       bool        `json:"whole"` // adversaries were played too
	Passes      int         `json:"passes"`
	OK          bool        `json:"ok"` // every control came out as it must
	Made        time.Time   `json:"made"`
}

// A Ground is what a proof stands on besides its task.
type Ground struct {
	Grader      tare.Digest // of the sources that can change a verdict
	Adversaries tare.Digest // of those that are for the task's runner
	Isolation   string
	Tools       string // the interpreter and the test runner, by content
}

// Certify makes the certificate of a table that was made on g and holds every control of the task; the isolation is the
// table's. Where the adversaries were left out it certifies a part.
func Certify(t Table, g Ground, made time.Time) (tare.Entry, error) {
	if !t.Controls || t.Passes < 2 {
		return tare.Entry{}, fmt.Errorf("certifying %s: not all of its controls were played, or once only", t.Task)
	}
	digest, err := t.Digest()
	if err != nil {
		return tare.Entry{}, err
	}
	return tare.NewEntry(Certificate{
		Schema: CertificateSchema, Task: t.Task, TaskHash: t.TaskHash, Grader: g.Grader, Adversaries: g.Adversaries, Isolation: t.Isolation, Tools: g.Tools,
		Table: digest, Controls: len(t.Rows), Whole: t.Whole, Passes: t.Passes, OK: t.OK(), Made: made.UTC().Truncate(time.Second),
	})
}

// Standing is what a certificate says of a task as it is now: proven, partly when some control did not come out as it
// must or no adversary was played, stale when the task, the grader, the adversaries, the isolation or the tools are not the ones that were proven, none
// without one.
func Standing(certificate []byte, task string, hash tare.Digest, g Ground) tare.Proof {
	if certificate == nil {
		return tare.Proof{Status: tare.Unproven}
	}
	var c Certificate
	if err := json.Unmarshal(certificate, &c); err != nil || c.Schema != CertificateSchema {
		return tare.Proof{Status: tare.Unproven}
	}
	p := tare.Proof{Status: tare.Proven, Certificate: tare.HashBytes(certificate)}
	switch {
	case len(Differs(c, task, hash, g)) > 0:
		p.Status = tare.Stale
	case !c.OK || !c.Whole:
		p.Status = tare.Partly
	}
	return p
}

// Differs names what a certificate speaks of that is not what is here.
func Differs(c Certificate, task string, hash tare.Digest, g Ground) []string {
	var out []string
	for _, x := range []struct{ name, was, is string }{
		{"task", c.Task, task},
		{"task hash", string(c.TaskHash), string(hash)},
		{"grader", string(c.Grader), string(g.Grader)},
		{"adversaries", string(c.Adversaries), string(g.Adversaries)},
		{"isolation", c.Isolation, g.Isolation},
		{"tools", c.Tools, g.Tools},
	} {
		if x.was != x.is {
			out = append(out, x.name)
		}
	}
	return out
}

// Contradictions names what in a certificate does not follow from raw, the table that it is said to be of, and what in the table
// does not follow from its rows. Each of controls must have a row that expects what it expects.
func Contradictions(c Certificate, raw []byte, controls []tare.Control) []string {
	var t Table
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return []string{"its table cannot be read: " + err.Error()}
	}
	var out []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(tare.HashBytes(raw) != c.Table, "its table has another hash than it says")
	say(t.Task != c.Task || t.TaskHash != c.TaskHash || t.Isolation != c.Isolation, "its table is of another task or isolation")
	say(len(t.Rows) != c.Controls || t.Passes != c.Passes || t.Whole != c.Whole || t.OK() != c.OK, "its counts are not those of its table")
	say(!t.Controls || t.Passes < 2, "not all of its controls were played twice")
	rows := map[string]Row{}
	for _, r := range t.Rows {
		rows[r.Control] = r
		say(r.OK != (wrong(r.Expect, r.Got) == "" && r.Wrong == ""), "row %q is called right and is not, or the other way about", r.Control)
	}
	for _, want := range controls {
		r, ok := rows[want.Name]
		say(!ok, "there is no row of control %q", want.Name)
		if ok {
			x, errX := tare.Canonical(r.Expect)
			y, errY := tare.Canonical(want.Expect)
			say(errX != nil || errY != nil || !bytes.Equal(x, y), "row %q expects something else than its control does", want.Name)
		}
	}
	return out
}
