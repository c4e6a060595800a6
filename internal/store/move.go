package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare"
)

// Portable ends the name of a file that holds a run, or several: an SQLite store with its blobs inside.
const Portable = ".tare"

// A Moved says what was copied from one store to another.
type Moved struct {
	Runs    []string
	Entries int      // copied
	Had     int      // that were there already
	Differ  []string // names that hold something else there, which stays as it is
}

// Export writes a run, with the certificates of its tasks, to a file that must not be there yet.
func Export(ctx context.Context, from Store, run, path string) (m Moved, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("exporting run %s: %s: %w", run, path, cmpErr(err, fs.ErrExist))
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".tmp-export-")
	if err != nil {
		return m, fmt.Errorf("exporting run %s: %w", run, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "run"+Portable)
	to, err := OpenDB(ctx, "sqlite:"+file, Options{})
	if err != nil {
		return m, err
	}
	m, err = Merge(ctx, from, to, []string{run})
	if err == nil {
		_, err = to.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return m, fmt.Errorf("exporting run %s: %w", run, err)
	}
	if err := os.Link(file, path); err != nil { // whole, or not at all, and never in place of another
		return m, fmt.Errorf("exporting run %s: %w", run, err)
	}
	return m, nil
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Merge copies runs into a database, entry by entry: what is there already stays, and an attempt that infrastructure ended is added
// to those that are there. Without names it is all runs.
func Merge(ctx context.Context, from Store, to *DB, runs []string) (Moved, error) {
	var m Moved
	all, err := from.Runs()
	if err != nil {
		return m, err
	}
	if runs == nil {
		runs = all
	}
	for _, run := range runs {
		if !slices.Contains(all, run) {
			return m, fmt.Errorf("run %s: %w", run, ErrNotFound)
		}
		if err := m.run(ctx, from, to, run); err != nil {
			return m, fmt.Errorf("copying run %s: %w", run, err)
		}
		m.Runs = append(m.Runs, run)
	}
	return m, to.Ledger().Integrate()
}

func (m *Moved) run(ctx context.Context, from Store, to *DB, run string) error {
	var plan struct {
		Episodes []tare.Episode `json:"episodes"`
	}
	if err := from.Plan(run, &plan); err != nil {
		return err
	}
	prefix := "runs/" + run + "/"
	err := entriesOf(ctx, from, prefix, func(e namedEntry) error { return m.entry(ctx, to, e) })
	if err != nil {
		return err
	}
	err = to.Tx(ctx, func(tx *sql.Tx) error {
		_, err := to.exec(ctx, tx, "INSERT INTO runs (id, began, state, priority, attempts) VALUES ($1, $2, 'active', 0, 1) ON CONFLICT DO NOTHING", run, time.Now().UnixMicro())
		return err
	})
	if err != nil {
		return err
	}
	if err := to.resummarise(ctx, run); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, ep := range plan.Episodes {
		if seen[ep.Task] {
			continue
		}
		seen[ep.Task] = true
		b, err := from.FindProof(ep.Task)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := to.FindProof(ep.Task); err == nil {
			continue // it has its own
		}
		if err := to.SaveProof(ep.Task, entryOf(b)); err != nil {
			return err
		}
	}
	return nil
}

// entry copies one entry.
func (m *Moved) entry(ctx context.Context, to *DB, e namedEntry) error {
	dir, base := filepath.Split(e.name)
	if strings.HasPrefix(base, "lost-") {
		return m.lost(ctx, to, dir, e)
	}
	there, err := to.readEntry(ctx, e.name)
	switch {
	case err == nil && there.Hash == e.Hash:
		m.Had++
		return nil
	case err == nil:
		m.Differ = append(m.Differ, e.name)
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if strings.HasPrefix(base, "verdict-") || strings.HasPrefix(base, "record-") {
		// a verdict on a record that is not the one there would be read as one of its own
		if rec, err := to.readEntry(ctx, dir+"record.json"); err == nil && !strings.HasSuffix(base, short(rec.Hash)+".json") && slices.ContainsFunc(m.Differ, func(n string) bool { return strings.HasPrefix(n, dir) }) {
			m.Differ = append(m.Differ, e.name)
			return nil
		}
	}
	m.Entries++
	return to.keep(ctx, e)
}

// lost adds an attempt that infrastructure ended, unless it is there under any number.
func (m *Moved) lost(ctx context.Context, to *DB, dir string, e namedEntry) error {
	have := 0
	if err := to.row(ctx, to.read, "SELECT count(*) FROM entries WHERE name > $1 AND name < $2 AND hash = $3", dir+"lost-", dir+"lost-:", string(e.Hash)).Scan(&have); err != nil {
		return err
	}
	if have > 0 {
		m.Had++
		return nil
	}
	var n int
	if err := to.row(ctx, to.read, "SELECT count(*) FROM entries WHERE name > $1 AND name < $2", dir+"lost-", dir+"lost-:").Scan(&n); err != nil {
		return err
	}
	m.Entries++
	e.name = fmt.Sprintf("%slost-%04d.json", dir, n+1)
	return to.keep(ctx, e)
}

// resummarise writes what the verdicts of a run say into the rows of its episodes, where it has some.
func (d *DB) resummarise(ctx context.Context, run string) error {
	verdicts, err := d.verdicts(ctx, run)
	if err != nil {
		return err
	}
	var keys []tare.Digest
	err = d.each(ctx, d.read, "SELECT key FROM episodes WHERE run = $1 AND state <> 'leased'", []any{run}, func(r *sql.Rows) error {
		var key tare.Digest
		err := r.Scan(&key)
		keys = append(keys, key)
		return err
	})
	if err != nil {
		return err
	}
	return d.Tx(ctx, func(tx *sql.Tx) error {
		for _, key := range keys {
			if history := verdicts[short(key)]; len(history) > 0 {
				if err := d.summarise(ctx, tx, run, key, tare.Standing(history)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func entryOf(b []byte) tare.Entry {
	var head struct {
		Schema string `json:"schema"`
	}
	_ = json.Unmarshal(b, &head) // what is no JSON has no schema
	return tare.Entry{Schema: head.Schema, Bytes: b, Hash: tare.HashBytes(b)}
}

// entriesOf reads the entries of a store whose names begin with prefix, in the order of their names.
func entriesOf(ctx context.Context, s Store, prefix string, do func(namedEntry) error) error {
	switch s := s.(type) {
	case *DB:
		return s.below(ctx, prefix, do)
	case Layered:
		return entriesOf(ctx, s.of(strings.Trim(strings.TrimPrefix(prefix, "runs/"), "/")), prefix, do)
	case *Files:
		kept := entryFiles(s.dir)
		names, err := kept.Names()
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			b, err := kept.Read(name)
			if err != nil {
				return err
			}
			if err := do(namedEntry{name, entryOf(b)}); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("reading entries: a %T has none", s)
}

// UnnamedBlobs are blobs that no entry and no episode names: what a writer left that was killed before its transaction. While workers
// live there may be some that are about to be named, which alone tells of: it is asked once the blobs are listed, which may take minutes,
// and before the names are read. What a worker that began later keeps is not in the list, and what others kept before has its name by then.
func (d *DB) UnnamedBlobs(ctx context.Context, alone func() error) ([]tare.Digest, error) {
	all, err := d.blobs.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing blobs: %w", err)
	}
	if err := alone(); err != nil {
		return nil, err
	}
	named := map[tare.Digest]bool{}
	err = d.each(ctx, d.read, "SELECT hash FROM entries WHERE body IS NULL UNION SELECT solution FROM episodes WHERE solution <> ''", nil, func(r *sql.Rows) error {
		var h tare.Digest
		err := r.Scan(&h)
		named[h] = true
		return err
	})
	return slices.DeleteFunc(all, func(h tare.Digest) bool { return named[h] }), err
}

// RemoveBlob removes a blob.
func (d *DB) RemoveBlob(ctx context.Context, h tare.Digest) error { return d.blobs.Remove(ctx, h) }
