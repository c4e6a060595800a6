package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare"
	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

// TestStoresKeepTheSame fills a store of each kind: what they hold then is the same, down to names, hashes and leaves.
func TestStoresKeepTheSame(t *testing.T) {
	var want []ledger.Leaf
	overStores(t, func(t *testing.T, s store.Store) {
		for range 2 { // the second time there is nothing to add
			if err := fill(s, 3); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Ledger().Integrate(); err != nil {
			t.Fatal(err)
		}
		r, err := s.Verify()
		if err != nil || len(r.Findings) > 0 || !r.Begun || r.Waiting > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		leaves, err := s.Ledger().Leaves(r.Head)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(leaves, func(a, b ledger.Leaf) int { return strings.Compare(a.Name, b.Name) })
		if want == nil {
			want = leaves
		}
		if !slices.Equal(want, leaves) {
			t.Errorf("got  %v\nwant %v", leaves, want)
		}
		p, err := s.Ledger().Prove("runs/r/plan.json")
		if err != nil || p.Check() != nil {
			t.Errorf("proving the plan: %v", err)
		}
		if err := s.Ledger().Extends(r.Head); err != nil {
			t.Error(err)
		}
		certificate, err := s.FindProof("s/t")
		if err != nil || !bytes.Contains(certificate, []byte("tare.certificate/1")) {
			t.Errorf("the certificate: %s, %v", certificate, err)
		}
		if _, err := s.FindProof("s/u"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a certificate that was never made: %v", err)
		}
		if got, err := s.Episodes("r"); err != nil || len(got) != 3 || len(got[0].Verdicts) != 3 {
			t.Errorf("episodes: %d, %v", len(got), err)
		}
	})
}

// TestLongEntriesAreBlobs keeps a record that no row should hold.
func TestLongEntriesAreBlobs(t *testing.T) {
	overDatabases(t, func(t *testing.T, d *store.DB) {
		ep := raced(0)
		rec, err := tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: ep, Final: strings.Repeat("x", 1<<20)}})
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Save("r", ep, rec, verdict); err != nil {
			t.Fatal(err)
		}
		got, err := d.Find("r", ep)
		if err != nil || len(got.Record.Trajectory.Final) != 1<<20 {
			t.Errorf("found %d bytes, %v", len(got.Record.Trajectory.Final), err)
		}
		if b, err := d.Blob(context.Background(), rec.Hash); err != nil || !bytes.Equal(b, rec.Bytes) {
			t.Errorf("the blob: %d bytes, %v", len(b), err)
		}
	})
}

// TestEntriesCannotBeChanged tries with plain SQL what no program of ours does.
func TestEntriesCannotBeChanged(t *testing.T) {
	overDatabases(t, func(t *testing.T, d *store.DB) {
		if err := fill(d, 1); err != nil {
			t.Fatal(err)
		}
		if err := d.Ledger().Integrate(); err != nil {
			t.Fatal(err)
		}
		tries := []string{
			"UPDATE blobs SET hash = 'x'", "UPDATE entries SET body = NULL", "UPDATE entries SET name = 'x' WHERE id = 1", "DELETE FROM entries WHERE id = 2",
			"UPDATE leaves SET line = 'x'", "DELETE FROM leaves", "UPDATE hashes SET hash = 'x'", "DELETE FROM hashes WHERE place = 0", "UPDATE heads SET size = 1", "DELETE FROM heads",
		}
		if d.Postgres() {
			tries = append(tries, "TRUNCATE entries CASCADE", "TRUNCATE leaves", "TRUNCATE hashes", "TRUNCATE heads")
		} else {
			tries = append(tries, "INSERT OR REPLACE INTO entries SELECT id, name, fact, hash, size, 'x' FROM entries", "INSERT OR REPLACE INTO entries SELECT id + 100, name, fact, hash, size, 'x' FROM entries",
				"INSERT OR REPLACE INTO leaves SELECT number, name, 'x' FROM leaves", "INSERT OR REPLACE INTO hashes SELECT place, 'x' FROM hashes", "INSERT OR REPLACE INTO heads SELECT size, 'x' FROM heads")
		}
		if _, err := d.PutBlob(context.Background(), []byte("b")); err != nil {
			t.Fatal(err)
		}
		if !d.Postgres() || d.BlobsAt() != "" { // whose blobs are elsewhere
			if err := raw(t, d, "INSERT INTO blobs VALUES ('h', 'b')"); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range tries {
			if err := raw(t, d, s); err == nil {
				t.Errorf("%s was done", s)
			}
		}
		if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
			t.Errorf("%+v, %v", r.Findings, err)
		}
	})
}

// unguarded takes the triggers away, as somebody with all rights could.
func unguarded(t *testing.T, d *store.DB) {
	t.Helper()
	for _, table := range []string{"entries", "leaves", "hashes", "heads", "blobs"} {
		err := raw(t, d, "ALTER TABLE "+table+" DISABLE TRIGGER USER")
		if !d.Postgres() {
			err = raw(t, d, "DROP TRIGGER "+table+"_stay")
			if table != "blobs" && err == nil {
				err = raw(t, d, "DROP TRIGGER "+table+"_keep")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTamperingInRowsIsNamed changes a database whose triggers are gone, and has the log say what was done.
func TestTamperingInRowsIsNamed(t *testing.T) {
	const verdict = "name LIKE 'runs/r/%/verdict-0002.json'"
	tests := []struct {
		name, do, where string
		kind            ledger.Kind
	}{
		{"a verdict has other bytes", "UPDATE entries SET body = 'x' WHERE " + verdict, "verdict-0002.json", ledger.Flipped},
		{"a verdict and its hash are others", "UPDATE entries SET body = 'x', hash = 'sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' WHERE " + verdict, "verdict-0002.json", ledger.Flipped},
		{"a verdict has the bytes of another entry", "UPDATE entries SET body = (SELECT body FROM entries WHERE name = 'runs/r/plan.json') WHERE " + verdict, "verdict-0002.json", ledger.Reordered},
		{"the hash of a row is another", "UPDATE entries SET hash = 'x' WHERE " + verdict, "verdict-0002.json", ledger.Flipped},
		{"a verdict is gone", "DELETE FROM entries WHERE " + verdict, "verdict-0002.json", ledger.Dropped},
		{"a verdict has another name", "UPDATE entries SET name = 'runs/r/x/verdict-0009.json' WHERE " + verdict, "verdict-0002.json", ledger.Dropped},
		{"an entry was put there", "INSERT INTO entries (name, fact, hash, size, body) VALUES ('runs/r/x/y.json', 'f', 'h', 1, 'x')", "runs/r/x/y.json", ledger.Added},
		{"a leaf is gone", "DELETE FROM leaves WHERE number = 3", "leaves/3", ledger.Dropped},
		{"a leaf is another", "UPDATE leaves SET line = (SELECT line FROM leaves WHERE number = 2) WHERE number = 3", "leaves/3", ledger.Flipped},
		{"the last leaf is gone", "DELETE FROM leaves WHERE number = (SELECT max(number) FROM leaves)", "leaves", ledger.Dropped},
		{"a hash is another", "UPDATE hashes SET hash = 'x' WHERE place = 1", "hashes/1", ledger.Flipped},
		{"a hash is gone", "DELETE FROM hashes WHERE place = 1", "hashes", ledger.Dropped},
		{"a head is another", "UPDATE heads SET root = 'x'", "heads", ledger.Flipped},
		{"the last head is gone", "DELETE FROM heads WHERE size = (SELECT max(size) FROM heads)", "leaves", ledger.Added},
		{"the copy of a certificate is none", "UPDATE proofs SET hash = 'x'", "proofs/s/t", ledger.Flipped},
		{"the blob of a record is gone", "DELETE FROM blobs", "record.json", ledger.Dropped},
		{"the blob of a record is another", "UPDATE blobs SET body = 'x'", "record.json", ledger.Flipped},
		{"the summary of an episode says something else", "UPDATE episodes SET outcome = 'PASS' WHERE outcome = 'FAIL'", "episodes/q/", ledger.Flipped},
		{"the reward in the row of an episode is another", "UPDATE episodes SET reward = 1 WHERE outcome = 'FAIL'", "episodes/q/", ledger.Flipped},
		{"the bounds in the row of an episode are others", "UPDATE episodes SET high = 0.5 WHERE outcome = 'FAIL'", "episodes/q/", ledger.Flipped},
		{"the gate in the row of an episode is another", "UPDATE episodes SET root_gate = 'x' WHERE outcome = 'FAIL'", "episodes/q/", ledger.Flipped},
		{"the grader in the row of an episode is another", "UPDATE episodes SET grader = 'x' WHERE outcome = 'FAIL'", "episodes/q/", ledger.Flipped},
		{"an episode that is finished is said not to be", "UPDATE episodes SET state = 'pending'", "episodes/q/", ledger.Flipped},
	}
	for dialect, address := range storetest.Databases(t) {
		fillTampered(t, address)
		for _, tt := range tests {
			t.Run(dialect+"/"+tt.name, func(t *testing.T) {
				d := openDB(t, copied(t, address)).WithBlobsInside()
				if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
					t.Fatalf("before: %+v, %v", r.Findings, err)
				}
				unguarded(t, d)
				if err := raw(t, d, tt.do); err != nil {
					t.Fatal(err)
				}
				r, err := d.Verify()
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Kind == tt.kind && strings.Contains(f.Where, tt.where) }) {
					t.Errorf("want %s at %s, got %+v", tt.kind, tt.where, r.Findings)
				}
			})
		}
	}
}

// fillTampered keeps one of everything in a database, and closes it.
func fillTampered(t *testing.T, address string) {
	t.Helper()
	d, err := store.OpenDB(context.Background(), address, store.Options{Local: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d.WithBlobsInside()
	rec, v, err := attempt(raced(0), 0)
	if err != nil {
		t.Fatal(err)
	}
	long, err := tare.NewEntry(tare.Record{Schema: tare.RecordSchema, Trajectory: tare.Trajectory{Episode: raced(1), Final: strings.Repeat("x", 1<<17)}})
	if err != nil {
		t.Fatal(err)
	}
	lv, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: long.Hash, Outcome: tare.Pass})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(fill(d, 2), d.Ledger().Integrate(), enqueued(d, "q", 1), d.Save("q", raced(0), rec, v), d.Save("s", raced(1), long, lv), d.Ledger().Integrate(), d.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// copied is a database with the content of another, which nobody has open.
func copied(t *testing.T, address string) string {
	t.Helper()
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(path))); err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + filepath.Join(dir, filepath.Base(path))
	}
	out, err := storetest.Postgres(t).Copy(address)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// enqueued enqueues a run of the first n raced episodes.
func enqueued(d *store.DB, run string, n int) error {
	w, err := work(run, n)
	if err != nil {
		return err
	}
	_, err = d.Enqueue(context.Background(), w, nil)
	return err
}

func work(run string, n int) (store.Work, error) {
	w := store.Work{Run: run, Attempts: 3}
	var all []tare.Episode
	for i := range n {
		w.Episodes = append(w.Episodes, store.Planned{Episode: raced(i), Limited: raced(i).Agent})
		all = append(all, raced(i))
	}
	var err error
	w.Plan, err = tare.NewEntry(map[string]any{"schema": "tare.plan/1", "episodes": all})
	return w, err
}

// TestMigrations brings a database forward from each earlier version, with what such a database held.
func TestMigrations(t *testing.T) {
	last := store.LastMigration()
	migrated := []string{"", "", "1x s/t by  0 pending  0 to 0\n", "1x s/t by  0 pending  0 to 0\n", "2x s/t by noop 0 pending  0 to 0\n1x s/t by other 0 held  0 to 0\n"}
	for dialect := range storetest.Databases(t) {
		for from := 0; from < last; from++ {
			t.Run(fmt.Sprintf("%s from %d", dialect, from), func(t *testing.T) {
				address := storetest.Databases(t)[dialect]
				if err := store.MigrateTo(address, from); err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("version%d.sql", from)))
				if err != nil {
					t.Fatal(err)
				}
				old, err := store.OpenUnmigrated(address)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(raw(t, old, strings.Split(strings.TrimSpace(string(b)), ";\n")...), old.Close()); err != nil {
					t.Fatal(err)
				}
				d := openDB(t, address)
				if err := d.Ledger().Integrate(); err != nil {
					t.Fatal(err)
				}
				r, err := d.Verify()
				if err != nil || len(r.Findings) > 0 || r.Head.Size != int64(min(from, 1)) {
					t.Errorf("%+v, %v", r, err)
				}
				if got, want := groupsAs(t, d, "old"), migrated[from]; got != want {
					t.Errorf("its episodes: got\n%swant\n%s", got, want)
				}
				if err := fill(d, 1); err != nil {
					t.Error(err)
				}
			})
		}
		t.Run(dialect+" of a newer tare", func(t *testing.T) {
			address := storetest.Databases(t)[dialect]
			if err := raw(t, openDB(t, address), fmt.Sprintf("INSERT INTO tare_schema (version, at) VALUES (%d, 0)", last+1)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.OpenDB(context.Background(), address, store.Options{}); !errors.Is(err, store.ErrNewer) {
				t.Errorf("it was opened: %v", err)
			}
		})
	}
}
