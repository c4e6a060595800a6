package store

import (
	"errors"
	"io"
	"slices"

	"tare"
	"tare/internal/ledger"
)

// Layered is a database over files that an earlier tare left: what is new goes into the database, and what the files hold stays
// readable where it is.
type Layered struct {
	*DB
	Old *Files
}

var _ Store = Layered{}

// of is the store that holds a run: the files where they alone have its plan.
func (l Layered) of(run string) Store {
	var plan any
	if err := l.DB.Plan(run, &plan); errors.Is(err, ErrNotFound) && l.Old.Plan(run, &plan) == nil {
		return l.Old
	}
	return l.DB
}

func (l Layered) Plan(run string, v any) error { return l.of(run).Plan(run, v) }

func (l Layered) Runs() ([]string, error) {
	now, err := l.DB.Runs()
	if err != nil {
		return nil, err
	}
	old, err := l.Old.Runs()
	for _, run := range old {
		if !slices.Contains(now, run) {
			now = append(now, run)
		}
	}
	return now, err
}

func (l Layered) Begin(run string, plan tare.Entry) error { return l.of(run).Begin(run, plan) }

func (l Layered) Trajectory(run string, ep tare.Episode) (io.WriteCloser, error) {
	return l.of(run).Trajectory(run, ep)
}

func (l Layered) Save(run string, ep tare.Episode, record, verdict tare.Entry) error {
	return l.of(run).Save(run, ep, record, verdict)
}

func (l Layered) Lost(run string, ep tare.Episode, record tare.Entry) error {
	return l.of(run).Lost(run, ep, record)
}

func (l Layered) Amend(run string, ep tare.Episode, further *tare.Entry, verdict tare.Entry) error {
	return l.of(run).Amend(run, ep, further, verdict)
}

func (l Layered) SaveView(run string, ep tare.Episode, name string, view []byte) error {
	return l.of(run).SaveView(run, ep, name, view)
}

func (l Layered) Find(run string, ep tare.Episode) (Result, error) { return l.of(run).Find(run, ep) }

func (l Layered) Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error) {
	return l.of(run).Finished(run, ep)
}

func (l Layered) Episodes(run string) ([]Result, error) { return l.of(run).Episodes(run) }

func (l Layered) LostAttempts(run string, ep tare.Episode) ([]tare.Record, error) {
	return l.of(run).LostAttempts(run, ep)
}

func (l Layered) All(room string) ([]tare.Entry, error) {
	now, err := l.DB.All(room)
	if err != nil {
		return nil, err
	}
	old, err := l.Old.All(room)
	for _, e := range old {
		if !slices.ContainsFunc(now, func(n tare.Entry) bool { return n.Hash == e.Hash }) {
			now = append(now, e)
		}
	}
	return now, err
}

func (l Layered) FindProof(task string) ([]byte, error) {
	b, err := l.DB.FindProof(task)
	if errors.Is(err, ErrNotFound) {
		return l.Old.FindProof(task)
	}
	return b, err
}

// Verify verifies both; the head is the database's.
func (l Layered) Verify() (ledger.Report, error) {
	now, err := l.DB.Verify()
	if err != nil {
		return now, err
	}
	old, err := l.Old.Verify()
	now.Findings = append(now.Findings, old.Findings...)
	now.Notes = append(now.Notes, old.Notes...)
	now.Waiting += old.Waiting
	now.Begun = now.Begun || old.Begun
	return now, err
}
