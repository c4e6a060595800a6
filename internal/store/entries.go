package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
	"tare/internal/ledger"
)

// A namedEntry is an entry and the name that it is kept under.
type namedEntry struct {
	name string
	tare.Entry
}

// episodeName begins the names of what is kept of an episode.
func episodeName(run string, ep tare.Episode) string {
	return "runs/" + run + "/" + short(ep.Key()) + "/"
}

// keepIn keeps entries in a transaction, whose blobs are there already: all of them, or fs.ErrExist when one of the names is taken.
func (d *DB) keepIn(ctx context.Context, tx queryer, entries ...namedEntry) error {
	rows := make([][]any, len(entries))
	for i, e := range entries {
		body := any(e.Bytes)
		if len(e.Bytes) > d.inRow {
			body = nil
		}
		rows[i] = []any{e.name, e.Schema, string(e.Hash), len(e.Bytes), body}
	}
	err := d.insertEntries(ctx, tx, rows)
	if duplicate(err) {
		return fmt.Errorf("keeping %s: %w", entries[0].name, fs.ErrExist)
	}
	return err
}

// insertEntries inserts rows of entries, and puts them into the inbox.
func (d *DB) insertEntries(ctx context.Context, tx queryer, rows [][]any) error {
	const columns = "(name, fact, hash, size, body)"
	var values strings.Builder
	var args, names []any
	for i, row := range rows {
		if i > 0 {
			values.WriteByte(',')
		}
		n := len(args)
		fmt.Fprintf(&values, "($%d,$%d,$%d,$%d,$%d)", n+1, n+2, n+3, n+4, n+5)
		args, names = append(args, row...), append(names, row[0])
	}
	into := "INSERT INTO entries " + columns + " VALUES " + values.String()
	if d.pg { // one way to the server and back
		_, err := d.exec(ctx, tx, "WITH kept AS ("+into+" RETURNING id) INSERT INTO inbox (entry) SELECT id FROM kept", args...)
		return err
	}
	if _, err := d.exec(ctx, tx, into, args...); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO inbox (entry) SELECT id FROM entries WHERE name IN ("+d.places(len(names))+")", names...)
	return err
}

// putBlobs keeps the bytes of long entries. It comes before the transaction: a blob that no entry names does no harm.
func (d *DB) putBlobs(ctx context.Context, entries ...namedEntry) error {
	for _, e := range entries {
		if len(e.Bytes) > d.inRow {
			if err := d.blobs.Put(ctx, e.Hash, e.Bytes); err != nil {
				return fmt.Errorf("keeping a blob: %w", err)
			}
		}
	}
	return nil
}

func (d *DB) keep(ctx context.Context, entries ...namedEntry) error {
	if err := d.putBlobs(ctx, entries...); err != nil {
		return err
	}
	return d.Tx(ctx, func(tx *sql.Tx) error { return d.keepIn(ctx, tx, entries...) })
}

// body is the bytes of an entry and their hash: what its row holds, or the blob that it names, which must be as it was kept.
func (d *DB) body(ctx context.Context, hash string, size int64, inRow []byte) ([]byte, tare.Digest, error) {
	if inRow != nil {
		return inRow, tare.HashBytes(inRow), nil
	}
	b, err := d.blob(ctx, tare.Digest(hash), size)
	if err == nil && tare.HashBytes(b) != tare.Digest(hash) {
		err = fmt.Errorf("blob %s has other bytes than were kept", hash)
	}
	return b, tare.Digest(hash), err
}

// blob reads a blob, and no more of it than size and one byte, whatever a row says.
func (d *DB) blob(ctx context.Context, hash tare.Digest, size int64) ([]byte, error) {
	return d.blobs.Get(ctx, hash, min(max(size, 0), MostBlob))
}

// readEntry reads an entry by its name, or says fs.ErrNotExist.
func (d *DB) readEntry(ctx context.Context, name string) (tare.Entry, error) {
	var e tare.Entry
	var hash string
	var size int64
	var body []byte
	err := d.row(ctx, d.read, "SELECT fact, hash, size, body FROM entries WHERE name = $1", name).Scan(&e.Schema, &hash, &size, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return e, fmt.Errorf("reading %s: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return e, fmt.Errorf("reading %s: %w", name, err)
	}
	if e.Bytes, e.Hash, err = d.body(ctx, hash, size, body); err != nil {
		return e, fmt.Errorf("reading %s: %w", name, err)
	}
	return e, nil
}

// below reads the entries whose names begin with prefix, which ends with a slash, in the order of their names.
func (d *DB) below(ctx context.Context, prefix string, do func(namedEntry) error) error {
	type row struct {
		namedEntry
		hash string
		size int64
	}
	var all []row
	after := strings.TrimSuffix(prefix, "/") + "0" // what comes after "/" in the order of bytes
	err := d.each(ctx, d.read, "SELECT name, fact, hash, size, body FROM entries WHERE name > $1 AND name < $2 ORDER BY name", []any{prefix, after}, func(r *sql.Rows) error {
		var e row
		err := r.Scan(&e.name, &e.Schema, &e.hash, &e.size, &e.Bytes)
		all = append(all, e)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", prefix, err)
	}
	for _, e := range all { // the connection is free again: a blob may be in the database too
		if e.Bytes, e.Hash, err = d.body(ctx, e.hash, e.size, e.Bytes); err != nil {
			return fmt.Errorf("reading %s: %w", e.name, err)
		}
		if err := do(e.namedEntry); err != nil {
			return err
		}
	}
	return nil
}

// rows is a folder of entries in memory.
type rowFolder struct {
	name  string
	files map[string][]byte
}

func (f rowFolder) title() string { return f.name }

func (f rowFolder) read(name string) ([]byte, error) {
	b, ok := f.files[name]
	if !ok {
		return nil, fmt.Errorf("reading %s%s: %w", f.name, name, fs.ErrNotExist)
	}
	return b, nil
}

func (f rowFolder) names(prefix string) ([]string, error) {
	var out []string
	for name := range f.files {
		if strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Ready says whether the database can be written to, and the place of its blobs is there.
func (d *DB) Ready() error {
	ctx := context.Background()
	if p, ok := d.blobs.(placed); ok {
		if err := p.ready(ctx); err != nil {
			return err
		}
	}
	return d.Tx(ctx, func(tx *sql.Tx) error {
		_, err := d.exec(ctx, tx, "UPDATE tare_schema SET at = at WHERE version = 1")
		return err
	})
}

// Begin notes the plan of a run. The same plan may begin again.
func (d *DB) Begin(run string, plan tare.Entry) error {
	ctx := context.Background()
	name := "runs/" + run + "/plan.json"
	e := namedEntry{name, plan}
	if err := d.putBlobs(ctx, e); err != nil {
		return fmt.Errorf("beginning run %s: %w", run, err)
	}
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		if err := d.keepIn(ctx, tx, e); err != nil {
			return err
		}
		_, err := d.exec(ctx, tx, "INSERT INTO runs (id, began, state, priority, attempts) VALUES ($1, $2, 'active', 0, 1)", run, time.Now().UnixMicro())
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		old, rerr := d.readEntry(ctx, name)
		if rerr == nil && old.Hash == plan.Hash {
			return nil
		}
		return errors.Join(fmt.Errorf("beginning run %s: the store holds another plan under that name", run), rerr)
	}
	if err != nil {
		return fmt.Errorf("beginning run %s: %w", run, err)
	}
	return nil
}

// Plan reads the plan of a run into v.
func (d *DB) Plan(run string, v any) error {
	e, err := d.readEntry(context.Background(), "runs/"+run+"/plan.json")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("reading the plan of run %s: %w", run, err)
	}
	if err := json.Unmarshal(e.Bytes, v); err != nil {
		return fmt.Errorf("reading the plan of run %s: %w", run, err)
	}
	return nil
}

// Runs lists the runs, the newest first.
func (d *DB) Runs() ([]string, error) {
	ctx := context.Background()
	var out []string
	err := d.each(ctx, d.read, "SELECT id FROM runs ORDER BY began DESC, id", nil, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	return out, nil
}

// Trajectory opens a file for the trajectory of an attempt, on this machine: what it says is in the record too.
func (d *DB) Trajectory(run string, ep tare.Episode) (io.WriteCloser, error) {
	if d.local == "" {
		return discarded{}, nil
	}
	return newTrajectory(filepath.Join(d.local, "trajectories", run, short(ep.Key())))
}

// discarded is where a trajectory goes that nobody keeps.
type discarded struct{}

func (discarded) Write(b []byte) (int, error) { return len(b), nil }
func (discarded) Close() error                { return nil }

// finished are the entries of a finished episode.
func finished(run string, ep tare.Episode, record, verdict tare.Entry) []namedEntry {
	at := episodeName(run, ep)
	return []namedEntry{{at + firstVerdict(record.Hash), verdict}, {at + "record.json", record}}
}

// Save keeps a finished episode with its first verdict, or says ErrFinished.
func (d *DB) Save(run string, ep tare.Episode, record, verdict tare.Entry) error {
	ctx := context.Background()
	entries := finished(run, ep, record, verdict)
	var v tare.Verdict
	err := json.Unmarshal(verdict.Bytes, &v)
	if err == nil {
		err = d.putBlobs(ctx, entries...)
	}
	if err == nil {
		err = d.Tx(ctx, func(tx *sql.Tx) error {
			if err := d.keepIn(ctx, tx, entries...); err != nil {
				return err
			}
			return d.summarise(ctx, tx, run, ep.Key(), v)
		})
	}
	if errors.Is(err, fs.ErrExist) {
		err = ErrFinished
	}
	if err != nil {
		return fmt.Errorf("saving episode %s: %w", short(ep.Key()), err)
	}
	return nil
}

// Lost keeps the record of an attempt that infrastructure ended.
func (d *DB) Lost(run string, ep tare.Episode, record tare.Entry) error {
	ctx := context.Background()
	if err := d.putBlobs(ctx, namedEntry{"", record}); err != nil {
		return err
	}
	for {
		err := d.Tx(ctx, func(tx *sql.Tx) error { return d.lostIn(ctx, tx, run, ep, record) })
		if !errors.Is(err, fs.ErrExist) { // another one took the number
			return err
		}
	}
}

// lostIn keeps the record of a lost attempt under the next free number.
func (d *DB) lostIn(ctx context.Context, tx queryer, run string, ep tare.Episode, record tare.Entry) error {
	at := episodeName(run, ep) + "lost-"
	var n int
	if err := d.row(ctx, tx, "SELECT count(*) FROM entries WHERE name > $1 AND name < $2", at, at+":").Scan(&n); err != nil { // ":" comes after the digits
		return err
	}
	return d.keepIn(ctx, tx, namedEntry{fmt.Sprintf("%s%04d.json", at, n+1), record})
}

// Amend adds a verdict to a finished episode: see Store.
func (d *DB) Amend(run string, ep tare.Episode, further *tare.Entry, verdict tare.Entry) error {
	ctx := context.Background()
	amending := func(err error) error { return fmt.Errorf("amending episode %s: %w", short(ep.Key()), err) }
	now, err := d.Find(run, ep)
	if err != nil {
		return amending(err)
	}
	v, err := now.amendment(further, verdict)
	if err != nil {
		return amending(err)
	}
	n := len(now.Verdicts) + 1
	added := []namedEntry{{fmt.Sprintf("%sverdict-%04d.json", episodeName(run, ep), n), verdict}}
	if further != nil {
		added = append(added, namedEntry{episodeName(run, ep) + recordName(n, further.Hash), *further})
	}
	if err := d.putBlobs(ctx, added...); err != nil {
		return amending(err)
	}
	standing := tare.Standing(append(slices.Clone(now.Verdicts), v))
	err = d.Tx(ctx, func(tx *sql.Tx) error {
		if err := d.keepIn(ctx, tx, added...); err != nil {
			return err
		}
		return d.summarise(ctx, tx, run, ep.Key(), standing)
	})
	if errors.Is(err, fs.ErrExist) {
		return amending(ErrNotCurrent)
	}
	if err != nil {
		return amending(err)
	}
	return nil
}

// amendment reads a verdict that is to be added, and says why it may not be.
func (r Result) amendment(further *tare.Entry, verdict tare.Entry) (tare.Verdict, error) {
	var v tare.Verdict
	if err := json.Unmarshal(verdict.Bytes, &v); err != nil {
		return v, err
	}
	judged := r.Latest().Record
	if further != nil {
		judged = further.Hash
	}
	if v.Record != judged {
		return v, fmt.Errorf("the verdict judges record %s and not %s", v.Record, judged)
	}
	if v.Supersedes != r.Current {
		return v, ErrNotCurrent
	}
	return v, nil
}

// summarise writes what the verdict that counts says into the row of its episode, for those who list many.
func (d *DB) summarise(ctx context.Context, tx queryer, run string, key tare.Digest, v tare.Verdict) error {
	args := append(summary(v), run, string(key))
	_, err := d.exec(ctx, tx, "UPDATE episodes SET "+summaryColumns+" WHERE run = $9 AND key = $10", args...)
	return err
}

// summaryColumns are set to what summary gives.
const summaryColumns = "state = 'done', outcome = $1, cause = $2, reward = $3, root_gate = $4, unfinished = $5, grader = $6, low = $7, high = $8"

func summary(v tare.Verdict) []any {
	return []any{string(v.Outcome), string(v.Cause), v.Reward, v.RootGate, number(v.Unfinished), string(v.Grader), v.RewardBounds[0], v.RewardBounds[1]}
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Find reads a finished episode, or says ErrNotFound.
func (d *DB) Find(run string, ep tare.Episode) (Result, error) {
	at := episodeName(run, ep)
	f := rowFolder{at, map[string][]byte{}}
	err := d.below(context.Background(), at, func(e namedEntry) error {
		f.files[strings.TrimPrefix(e.name, at)] = e.Bytes
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return readResult(f)
}

// Finished is Find for those who ask whether.
func (d *DB) Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error) {
	return finishedBy(d, run, ep)
}

func finishedBy(s interface {
	Find(run string, ep tare.Episode) (Result, error)
}, run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error) {
	r, err := s.Find(run, ep)
	if errors.Is(err, ErrNotFound) {
		return tare.Record{}, tare.Verdict{}, false, nil
	}
	if err != nil {
		return tare.Record{}, tare.Verdict{}, false, err
	}
	return r.Record, r.Verdict(), true, nil
}

// Episodes reads all finished episodes of a run, in the order of their task, agent and trial.
func (d *DB) Episodes(run string) ([]Result, error) {
	prefix := "runs/" + run + "/"
	var out []Result
	at := rowFolder{}
	flush := func() error {
		r, err := readResult(at)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		out = append(out, r)
		return err
	}
	seen := false
	err := d.below(context.Background(), prefix, func(e namedEntry) error {
		seen = true
		dir, name, inFolder := strings.Cut(strings.TrimPrefix(e.name, prefix), "/")
		if !inFolder {
			return nil
		}
		if at.name != prefix+dir+"/" {
			if err := flush(); err != nil {
				return err
			}
			at = rowFolder{prefix + dir + "/", map[string][]byte{}}
		}
		at.files[name] = e.Bytes
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, fmt.Errorf("reading run %s: %w", run, err)
	}
	if !seen {
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	slices.SortFunc(out, byEpisode)
	return out, nil
}

// LostAttempts reads the records of the attempts that infrastructure ended, oldest first.
func (d *DB) LostAttempts(run string, ep tare.Episode) ([]tare.Record, error) {
	var out []tare.Record
	at := episodeName(run, ep)
	err := d.below(context.Background(), at, func(e namedEntry) error {
		if !strings.HasPrefix(e.name, at+"lost-") {
			return nil
		}
		var rec tare.Record
		if err := json.Unmarshal(e.Bytes, &rec); err != nil {
			return fmt.Errorf("reading %s: %w", e.name, err)
		}
		out = append(out, rec)
		return nil
	})
	return out, err
}

// SaveView keeps a view for other programs, as a file on this machine, beside the trajectory: a folder of runs would say that some are
// kept as files.
func (d *DB) SaveView(run string, ep tare.Episode, name string, view []byte) error {
	if d.local == "" {
		return nil
	}
	if err := d.disk.Replace(filepath.Join(d.local, "trajectories", run, short(ep.Key()), name), view); err != nil {
		return fmt.Errorf("keeping %s: %w", name, err)
	}
	return nil
}

// Put keeps an entry that belongs to no run in a room, once.
func (d *DB) Put(room string, e tare.Entry) error {
	err := d.keep(context.Background(), namedEntry{room + "/" + short(e.Hash) + ".json", e})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping one of the %s: %w", room, err)
	}
	return nil
}

// All reads the entries of a room, in the order of their hashes.
func (d *DB) All(room string) ([]tare.Entry, error) {
	var out []tare.Entry
	err := d.below(context.Background(), room+"/", func(e namedEntry) error {
		out = append(out, e.Entry)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", room, err)
	}
	return out, nil
}

// SaveProof keeps the certificate of a task as its latest one.
func (d *DB) SaveProof(task string, certificate tare.Entry) error {
	if err := d.Put(Certificates, certificate); err != nil {
		return err
	}
	ctx := context.Background()
	err := d.Tx(ctx, func(tx *sql.Tx) error {
		_, err := d.exec(ctx, tx, "INSERT INTO proofs (task, hash) VALUES ($1, $2) ON CONFLICT (task) DO UPDATE SET hash = excluded.hash", task, string(certificate.Hash))
		return err
	})
	if err != nil {
		return fmt.Errorf("keeping a certificate: %w", err)
	}
	return nil
}

// FindProof reads the latest certificate of a task, or says ErrNotFound.
func (d *DB) FindProof(task string) ([]byte, error) {
	ctx := context.Background()
	var hash string
	err := d.row(ctx, d.read, "SELECT hash FROM proofs WHERE task = $1", task).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("certificate of %s: %w", task, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	e, err := d.readEntry(ctx, Certificates+"/"+short(tare.Digest(hash))+".json")
	if err == nil && string(e.Hash) != hash {
		err = fmt.Errorf("certificate of %s: it has other bytes than were kept", task)
	}
	return e.Bytes, err
}

// newTrajectory makes the next file for a trajectory in a folder.
func newTrajectory(dir string) (io.WriteCloser, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("keeping a trajectory: %w", err)
	}
	for n := 1; ; n++ {
		name := "trajectory.jsonl"
		if n > 1 {
			name = fmt.Sprintf("trajectory-%d.jsonl", n)
		}
		w, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("keeping a trajectory: %w", err)
		}
		return w, nil
	}
}

// leafOf is the leaf of a kept entry.
func (e namedEntry) leaf() ledger.Leaf { return ledger.LeafOf(e.name, e.Entry) }
