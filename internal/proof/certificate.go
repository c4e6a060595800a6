package proof

import (
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
func Standing(certificate []byte, task *tare.Task, g Ground) tare.Proof {
	if certificate == nil {
		return tare.Proof{Status: tare.Unproven}
	}
	var c Certificate
	if err := json.Unmarshal(certificate, &c); err != nil || c.Schema != CertificateSchema {
		return tare.Proof{Status: tare.Unproven}
	}
	p := tare.Proof{Status: tare.Proven, Certificate: tare.HashBytes(certificate)}
	switch {
	case c.Task != task.ID || c.TaskHash != task.Hash || (Ground{c.Grader, c.Adversaries, c.Isolation, c.Tools}) != g:
		p.Status = tare.Stale
	case !c.OK || !c.Whole:
		p.Status = tare.Partly
	}
	return p
}
