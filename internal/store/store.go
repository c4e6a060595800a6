package store

import (
	"errors"
	"io"

	"tare"
	"tare/internal/ledger"
)

// A Store keeps runs and certificates. Files and DB are stores, and the same suite of tests holds both to what it says here.
type Store interface {
	// Ready says why nothing can be kept there, if that is so: better before hours of work than after them.
	Ready() error

	// Begin notes the plan of a run. The same plan may begin again.
	Begin(run string, plan tare.Entry) error
	// Plan reads the plan of a run into v.
	Plan(run string, v any) error
	// Runs lists the runs, the newest first.
	Runs() ([]string, error)

	// Trajectory opens a new file for the trajectory of an attempt; earlier attempts stay.
	Trajectory(run string, ep tare.Episode) (io.WriteCloser, error)
	// Save keeps a finished episode with its first verdict, or says ErrFinished.
	Save(run string, ep tare.Episode, record, verdict tare.Entry) error
	// Lost keeps the record of an attempt that infrastructure ended. It does not finish the episode.
	Lost(run string, ep tare.Episode, record tare.Entry) error
	// Amend adds a verdict to a finished episode; with further, on that record.
	Amend(run string, ep tare.Episode, further *tare.Entry, verdict tare.Entry) error
	// SaveView keeps a view of a finished episode for other programs, under one of the names of views. It is no entry.
	SaveView(run string, ep tare.Episode, name string, view []byte) error

	// Find reads a finished episode, or says ErrNotFound.
	Find(run string, ep tare.Episode) (Result, error)
	// Finished is Find for those who ask whether.
	Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error)
	// Episodes reads all finished episodes of a run, in the order of their task, agent and trial.
	Episodes(run string) ([]Result, error)
	// LostAttempts reads the records of the attempts that infrastructure ended, oldest first.
	LostAttempts(run string, ep tare.Episode) ([]tare.Record, error)

	// Put keeps an entry that belongs to no run in a room, once; All reads a room, in the order of hashes.
	Put(room string, e tare.Entry) error
	All(room string) ([]tare.Entry, error)
	// SaveProof keeps the certificate of a task as its latest one; FindProof reads that, or says ErrNotFound.
	SaveProof(task string, certificate tare.Entry) error
	FindProof(task string) ([]byte, error)

	// Verify holds everything that is kept against the ledger.
	Verify() (ledger.Report, error)
	Ledger() Ledger
	Close() error
}

// A Ledger is the log of all that a store keeps.
type Ledger interface {
	Integrate() error // numbers what waits
	Head() (ledger.Head, error)
	Prove(entry string) (ledger.Proof, error)
	Extends(old ledger.Head) error
	Leaves(head ledger.Head) ([]ledger.Leaf, error)
}

var (
	_ Store  = (*Files)(nil)
	_ Store  = (*DB)(nil)
	_ Ledger = (*ledger.Log)(nil)
)

// ErrNotFound means that the store does not hold what was asked for.
var ErrNotFound = errors.New("not in the store")

// ErrFinished means that the store holds a record of that episode: another attempt was there first, and its record stands.
var ErrFinished = errors.New("it is finished already")

// ErrNotCurrent means that a verdict would correct one that is not, or is no more, the current one.
var ErrNotCurrent = errors.New("it corrects a verdict that is not the current one")

// A Result is one finished episode: its record and its verdicts, oldest first.
type Result struct {
	Record   tare.Record // that of the latest verdict: the first one, unless something was learnt of the episode since
	Verdicts []tare.Verdict
	Current  tare.Digest // of the latest verdict's entry: what a correction must name
}

// Verdict is the one that counts, which need not be the latest.
func (r Result) Verdict() tare.Verdict { return tare.Standing(r.Verdicts) }

// Latest is the last verdict.
func (r Result) Latest() tare.Verdict { return r.Verdicts[len(r.Verdicts)-1] }

// Certificates is the room of certificates: see Put.
const Certificates = "certificates"

// Rooms of entries that belong to no run.
const (
	Admissions = "admissions" // of judges
	Answers    = "answers"    // of people, to what a judge may not answer
)
