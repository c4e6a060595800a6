package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"tare"
)

// ErrLease means that a lease is not held any more: its worker was taken for lost, and somebody else has the episode.
var ErrLease = errors.New("the lease is not held any more")

// States of a run.
const (
	Active    = "active"
	Paused    = "paused"
	Cancelled = "cancelled"
)

// A Planned is an episode that is to be played.
type Planned struct {
	Episode  tare.Episode
	Solution tare.Digest // the blob of a finished tree that is put in place of an agent's work; "" of none
	Limited  string      // the name that a limit of its agent has
	Provider string      // of its model, where there is one
	Needs    []string    // what a worker must have
}

// Work is a run that is to be done.
type Work struct {
	Run      string
	Plan     tare.Entry
	Episodes []Planned
	Priority int // lower goes first
	Attempts int // of an episode that infrastructure ends; below 1 is 1
	Suites   []Suite
}

// A Suite is the archive that tasks come from, for workers who do not have it.
type Suite struct {
	Name    string
	Archive []byte
	Tasks   map[tare.Digest]string // hashes and ids
}

// A Waker inserts, in the transaction that makes it necessary, n jobs that wake workers at a time.
type Waker func(ctx context.Context, tx *sql.Tx, n int, at time.Time) error

// Enqueue notes a run and what of it is to be played: all that is neither finished nor under way. What was lost, paused or
// cancelled is asked for anew. It returns how many episodes wait now.
func (d *DB) Enqueue(ctx context.Context, w Work, wake Waker) (waiting int, err error) {
	plan := namedEntry{"runs/" + w.Run + "/plan.json", w.Plan}
	if err := d.putBlobs(ctx, plan); err != nil {
		return 0, fmt.Errorf("enqueuing run %s: %w", w.Run, err)
	}
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		if d.pg { // two that enqueue the same run would each insert its episodes
			if _, err := d.exec(ctx, tx, "SELECT pg_advisory_xact_lock(hashtext($1))", w.Run); err != nil {
				return err
			}
		}
		if err := d.enqueueRun(ctx, tx, w, plan); err != nil {
			return err
		}
		if err := d.enqueueSuites(ctx, tx, w.Suites); err != nil {
			return err
		}
		if err := d.enqueueEpisodes(ctx, tx, w); err != nil {
			return err
		}
		if err := d.row(ctx, tx, "SELECT count(*) FROM episodes WHERE run = $1 AND state = 'pending'", w.Run).Scan(&waiting); err != nil {
			return err
		}
		if waiting == 0 || wake == nil {
			return nil
		}
		return wake(ctx, tx, waiting, time.Time{})
	})
	if err != nil {
		return 0, fmt.Errorf("enqueuing run %s: %w", w.Run, err)
	}
	return waiting, nil
}

func (d *DB) enqueueRun(ctx context.Context, tx *sql.Tx, w Work, plan namedEntry) error {
	var hash string
	err := d.row(ctx, tx, "SELECT hash FROM entries WHERE name = $1", plan.name).Scan(&hash)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if err := d.keepIn(ctx, tx, plan); err != nil {
			return err
		}
	case err != nil:
		return err
	case hash != string(plan.Hash):
		return errors.New("the store holds another plan under that name")
	}
	_, err = d.exec(ctx, tx, `INSERT INTO runs (id, began, state, priority, attempts) VALUES ($1, $2, 'active', $3, $4)
		ON CONFLICT (id) DO UPDATE SET state = 'active', priority = excluded.priority, attempts = excluded.attempts`,
		w.Run, time.Now().UnixMicro(), w.Priority, max(1, w.Attempts))
	return err
}

func (d *DB) enqueueSuites(ctx context.Context, tx *sql.Tx, suites []Suite) error {
	for _, s := range suites {
		hash := string(tare.HashBytes(s.Archive))
		if _, err := d.exec(ctx, tx, "INSERT INTO suites (hash, name, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", hash, s.Name, s.Archive); err != nil {
			return err
		}
		for task, id := range s.Tasks {
			if _, err := d.exec(ctx, tx, "INSERT INTO tasks (hash, id, suite) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", string(task), id, hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// SuiteOf reads the archive that holds the task with a hash, or says ErrNotFound.
func (d *DB) SuiteOf(ctx context.Context, task tare.Digest) (name string, archive []byte, err error) {
	err = d.row(ctx, d.read, "SELECT s.name, s.body FROM tasks t JOIN suites s ON s.hash = t.suite WHERE t.hash = $1", string(task)).Scan(&name, &archive)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("task %s: %w", task, ErrNotFound)
	}
	return name, archive, err
}

// PutBlob and Blob keep and read bytes by their hash: what a plan needs and no entry holds, such as a finished tree.
func (d *DB) PutBlob(ctx context.Context, b []byte) (tare.Digest, error) {
	hash := tare.HashBytes(b)
	return hash, d.blobs.Put(ctx, hash, b)
}

// Blob reads what PutBlob kept.
func (d *DB) Blob(ctx context.Context, hash tare.Digest) ([]byte, error) {
	b, err := d.blob(ctx, hash, MostBlob)
	if err == nil && tare.HashBytes(b) != hash {
		err = fmt.Errorf("blob %s has other bytes than were kept", hash)
	}
	return b, err
}

func (d *DB) enqueueEpisodes(ctx context.Context, tx *sql.Tx, w Work) error {
	if _, err := d.exec(ctx, tx, "UPDATE episodes SET state = 'pending', failures = 0, not_before = 0, priority = $1 WHERE run = $2 AND state IN ('pending', 'held', 'lost', 'cancelled')", w.Priority, w.Run); err != nil {
		return err
	}
	have := map[string]string{} // what they need
	err := d.each(ctx, tx, "SELECT key, needs FROM episodes WHERE run = $1", []any{w.Run}, func(r *sql.Rows) error {
		var key, needs string
		err := r.Scan(&key, &needs)
		have[key] = needs
		return err
	})
	if err != nil {
		return err
	}
	finished, err := d.finishedWithout(ctx, tx, w.Run, len(have) == len(w.Episodes))
	if err != nil {
		return err
	}
	forms, err := d.formsOf(ctx, tx, w.Episodes)
	if err != nil {
		return err
	}
	needs := map[string]bool{}
	var rows [][]any
	for place, p := range w.Episodes {
		key := p.Episode.Key()
		list := slices.Clone(p.Needs)
		slices.Sort(list)
		all := strings.Join(list, " ")
		needs[all] = true
		if before, ok := have[string(key)]; ok {
			if before != all { // a newer grader, for one
				if _, err := d.exec(ctx, tx, "UPDATE episodes SET needs = $1 WHERE run = $2 AND key = $3", all, w.Run, string(key)); err != nil {
					return err
				}
			}
			continue
		}
		body, err := tare.Canonical(p.Episode)
		if err != nil {
			return err
		}
		row := []any{w.Run, string(key), place, p.Episode.Task, p.Episode.Agent, p.Episode.Trial, body, string(p.Solution), p.Limited, p.Provider, all, w.Priority,
			forms[formOf(p.Episode)], "pending", 0, 0, 0, nil, nil, nil, nil, nil, nil, nil, nil}
		if v, ok := finished[short(key)]; ok {
			row[13] = "done"
			copy(row[17:], summary(v))
		}
		rows = append(rows, row)
	}
	for n := range needs {
		if _, err := d.exec(ctx, tx, "INSERT INTO needs (needs) VALUES ($1) ON CONFLICT DO NOTHING", n); err != nil {
			return err
		}
	}
	return d.insert(ctx, tx, "episodes (run, key, place, task, agent, trial, body, solution, limited, provider, needs, priority, form, state, number, failures, not_before, outcome, cause, reward, root_gate, unfinished, grader, low, high)", 25, rows)
}

// formOf is an episode without what tells it from others of a table's cell.
func formOf(ep tare.Episode) tare.Episode {
	ep.Trial, ep.Seed = 0, 0
	return ep
}

// formsOf are the rows of the forms that episodes have, by the forms.
func (d *DB) formsOf(ctx context.Context, tx *sql.Tx, episodes []Planned) (map[tare.Episode]int64, error) {
	out := map[tare.Episode]int64{}
	for _, p := range episodes {
		form := formOf(p.Episode)
		if _, ok := out[form]; ok {
			continue
		}
		body, err := tare.Canonical(form)
		if err != nil {
			return nil, err
		}
		name := string(tare.HashBytes(body))
		if _, err := d.exec(ctx, tx, "INSERT INTO forms (name, body) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, body); err != nil {
			return nil, err
		}
		var id int64
		if err := d.row(ctx, tx, "SELECT id FROM forms WHERE name = $1", name).Scan(&id); err != nil {
			return nil, err
		}
		out[form] = id
	}
	return out, nil
}

// finishedWithout reads the verdicts that count of episodes that were kept before their run was enqueued: in an imported run, for one.
func (d *DB) finishedWithout(ctx context.Context, tx *sql.Tx, run string, none bool) (map[string]tare.Verdict, error) {
	if none {
		return nil, nil
	}
	all, err := d.verdictsBy(ctx, tx, run)
	out := map[string]tare.Verdict{}
	for key, history := range all {
		out[key] = tare.Standing(history)
	}
	return out, err
}

// A Lease is the right of a worker to play an episode and to say what came of it. Each has a number: who took an episode over has
// the next one, and the former holder's word counts no more.
type Lease struct {
	Run      string
	Key      tare.Digest
	Number   int
	Worker   string
	Episode  tare.Episode
	Solution tare.Digest
	Began    time.Time
}

func meets(has []string, needs string) bool {
	for _, need := range strings.Fields(needs) {
		if !slices.Contains(has, need) {
			return false
		}
	}
	return true
}

// release ends a lease: what its holder says afterwards counts no more.
func (d *DB) release(ctx context.Context, tx *sql.Tx, l *Lease, what string) error {
	const gone = "DELETE FROM leases WHERE run = $1 AND key = $2 AND number = $3 AND worker = $4"
	const tried = "INSERT INTO attempts (run, key, number, worker, began, ended, what) "
	holder := []any{l.Run, string(l.Key), l.Number, l.Worker}
	all := append(slices.Clone(holder), l.Began.UnixMicro(), time.Now().UnixMicro(), what)
	if d.pg { // one way to the server and back
		n, err := d.exec(ctx, tx, "WITH gone AS ("+gone+" RETURNING run, key, number, worker) "+tried+"SELECT run, key, number, worker, $5::bigint, $6::bigint, $7::text FROM gone", all...)
		if err == nil && n == 0 {
			err = ErrLease
		}
		return err
	}
	n, err := d.exec(ctx, tx, gone, holder...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrLease
	}
	_, err = d.exec(ctx, tx, tried+"VALUES ($1, $2, $3, $4, $5, $6, $7)", all...)
	return err
}

// Finish keeps what came of a leased episode, ends the lease, and does what also does, all in one transaction or none of it. It
// may be tried again after any error that is not Lasting: what was kept by an attempt whose answer was lost is recognised.
func (d *DB) Finish(ctx context.Context, l *Lease, record, verdict tare.Entry, also func(tx *sql.Tx) error) error {
	var v tare.Verdict
	if err := json.Unmarshal(verdict.Bytes, &v); err != nil {
		return fmt.Errorf("finishing an episode: %w", err)
	}
	entries := finished(l.Run, l.Episode, record, verdict)
	if err := d.putBlobs(ctx, entries...); err != nil {
		return fmt.Errorf("finishing an episode: %w", err)
	}
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		if err := d.release(ctx, tx, l, "graded"); err != nil {
			return err
		}
		if err := d.keepIn(ctx, tx, entries...); err != nil {
			return err
		}
		if err := d.summarise(ctx, tx, l.Run, l.Key, v); err != nil {
			return err
		}
		return also(tx)
	})
	if errors.Is(err, ErrLease) || errors.Is(err, fs.ErrExist) {
		if kept, rerr := d.readEntry(ctx, entries[1].name); rerr == nil && kept.Hash == record.Hash {
			return nil
		}
	}
	if errors.Is(err, fs.ErrExist) {
		err = errors.Join(d.tooLate(ctx, l, record, also), ErrFinished)
	}
	if err != nil {
		return fmt.Errorf("finishing an episode: %w", err)
	}
	return nil
}

// tooLate ends the lease of an episode that was finished by other means meanwhile: in a run that was imported, or by a command that takes
// no leases. That record stands; the later one is kept among the attempts that were lost.
func (d *DB) tooLate(ctx context.Context, l *Lease, record tare.Entry, also func(tx *sql.Tx) error) error {
	return d.Tx(ctx, func(tx *sql.Tx) error {
		if err := d.release(ctx, tx, l, "too late"); err != nil {
			return err
		}
		if err := d.lostIn(ctx, tx, l.Run, l.Episode, record); err != nil {
			return err
		}
		all, err := d.verdictsBy(ctx, tx, l.Run)
		if err != nil {
			return err
		}
		history := all[short(l.Key)]
		if len(history) == 0 {
			return fmt.Errorf("episode %s has a record and no verdict", short(l.Key))
		}
		if err := d.summarise(ctx, tx, l.Run, l.Key, tare.Standing(history)); err != nil {
			return err
		}
		return also(tx)
	})
}

// Fail keeps the record of an attempt that infrastructure ended, and ends the lease. The episode waits for another attempt, after
// a while, or counts as lost when it has had as many as its run allows. again says which.
func (d *DB) Fail(ctx context.Context, l *Lease, record tare.Entry, wake Waker, also func(tx *sql.Tx) error) (again bool, err error) {
	if err := d.putBlobs(ctx, namedEntry{"", record}); err != nil {
		return false, fmt.Errorf("keeping a lost attempt: %w", err)
	}
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		if again, err = d.failIn(ctx, tx, l, record, "infrastructure", wake); err != nil {
			return err
		}
		return also(tx)
	})
	if err != nil {
		return false, fmt.Errorf("keeping a lost attempt: %w", err)
	}
	return again, nil
}

func (d *DB) failIn(ctx context.Context, tx *sql.Tx, l *Lease, record tare.Entry, what string, wake Waker) (again bool, err error) {
	if err := d.release(ctx, tx, l, what); err != nil {
		return false, err
	}
	if err := d.lostIn(ctx, tx, l.Run, l.Episode, record); err != nil {
		return false, err
	}
	var failures, most int
	var state string
	if err := d.row(ctx, tx, "SELECT e.failures, r.attempts, r.state FROM episodes e JOIN runs r ON r.id = e.run WHERE e.run = $1 AND e.key = $2", l.Run, string(l.Key)).Scan(&failures, &most, &state); err != nil {
		return false, err
	}
	failures++
	next, at := "lost", time.Time{}
	if failures < most {
		next, at = waitingIn(state), time.Now().Add(wait(failures))
	}
	if what == "worker lost" {
		at = time.Time{}
	}
	after := int64(0)
	if !at.IsZero() {
		after = at.UnixMicro()
	}
	if _, err := d.exec(ctx, tx, "UPDATE episodes SET state = $1, failures = $2, not_before = $3 WHERE run = $4 AND key = $5", next, failures, after, l.Run, string(l.Key)); err != nil {
		return false, err
	}
	if next == "pending" && wake != nil {
		return true, wake(ctx, tx, 1, at)
	}
	return next != "lost", nil
}

// waitingIn is the state of what waits in a run of a state.
func waitingIn(run string) string {
	switch run {
	case Paused:
		return "held"
	case Cancelled:
		return "cancelled"
	default:
		return "pending"
	}
}

// wait is how long an episode waits after it failed for the nth time: 0.5 s, 1 s, 2 s and so on.
func wait(failures int) time.Duration {
	return time.Duration(min(float64(backOff), float64(500*time.Millisecond)*math.Pow(2, float64(failures-1))))
}

// GiveUp ends a lease of which nothing came, since somebody wanted it so: the episode waits again.
func (d *DB) GiveUp(ctx context.Context, l *Lease, wake Waker, also func(tx *sql.Tx) error) error {
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		if err := d.release(ctx, tx, l, "given up"); err != nil {
			return err
		}
		var state string
		if err := d.row(ctx, tx, "SELECT state FROM runs WHERE id = $1", l.Run).Scan(&state); err != nil {
			return err
		}
		if _, err := d.exec(ctx, tx, "UPDATE episodes SET state = $1 WHERE run = $2 AND key = $3", waitingIn(state), l.Run, string(l.Key)); err != nil {
			return err
		}
		if state == Active && wake != nil {
			if err := wake(ctx, tx, 1, time.Time{}); err != nil {
				return err
			}
		}
		return also(tx)
	})
	if err != nil {
		return fmt.Errorf("giving an episode up: %w", err)
	}
	return nil
}

// TakeOver ends a worker whose heart stands at beat, and its leases: what it had waits again, each with a record that says why, or
// counts as lost when that has happened too often. It returns the leases; none when the heart beat after all.
func (d *DB) TakeOver(ctx context.Context, w Pulse, wake Waker) ([]Lease, error) {
	var out []Lease
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		out = nil
		n, err := d.exec(ctx, tx, "UPDATE workers SET state = 'lost' WHERE id = $1 AND beat = $2 AND (state = 'alive' OR EXISTS (SELECT 1 FROM leases WHERE worker = $3))", w.ID, w.Beat, w.ID)
		if err != nil || n == 0 {
			return err
		}
		err = d.each(ctx, tx, "SELECT l.run, l.key, l.number, l.worker, l.began, e.body FROM leases l JOIN episodes e ON e.run = l.run AND e.key = l.key WHERE l.worker = $1", []any{w.ID}, func(r *sql.Rows) error {
			var l Lease
			var began int64
			var body []byte
			if err := r.Scan(&l.Run, &l.Key, &l.Number, &l.Worker, &began, &body); err != nil {
				return err
			}
			l.Began = time.UnixMicro(began)
			out = append(out, l)
			return json.Unmarshal(body, &out[len(out)-1].Episode)
		})
		if err != nil {
			return err
		}
		for i := range out {
			record, err := lostRecord(&out[i], w)
			if err != nil {
				return err
			}
			if _, err := d.failIn(ctx, tx, &out[i], record, "worker lost", wake); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("taking over from %s: %w", w.ID, err)
	}
	return out, nil
}

// lostRecord is the record of an attempt of which nothing is known but that its worker is gone.
func lostRecord(l *Lease, w Pulse) (tare.Entry, error) {
	return tare.NewEntry(tare.Record{
		Schema: tare.RecordSchema, TaskHash: l.Episode.TaskHash,
		Trajectory: tare.Trajectory{Episode: l.Episode, Started: l.Began.UTC()},
		Evidence:   tare.Evidence{Problems: []tare.Problem{{Where: "worker", Error: fmt.Sprintf("worker %s (process %d) was gone while it played attempt %d", w.ID, w.PID, l.Number)}}},
	})
}
