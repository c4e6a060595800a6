package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare"
	"tare/internal/ledger"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

// fill keeps one of everything that a store keeps: a plan, an episode that is corrected and then reviewed, a lost attempt, a
// certificate. What is there already stays.
func fill(f store.Store, episodes int) error {
	plan, err := tare.NewEntry(map[string]string{"schema": "tare.plan/1"})
	if err != nil {
		return err
	}
	if err := f.Begin("r", plan); err != nil {
		return err
	}
	for i := range episodes {
		rec, verdict, err := attempt(raced(i), 1)
		if err != nil {
			return err
		}
		if lost, err := f.LostAttempts("r", raced(i)); err != nil {
			return err
		} else if len(lost) == 0 {
			if err := f.Lost("r", raced(i), rec); err != nil {
				return err
			}
		}
		if err := f.Save("r", raced(i), rec, verdict); err != nil && !errors.Is(err, store.ErrFinished) {
			return err
		}
	}
	if err := amend(f, raced(0)); err != nil {
		return err
	}
	certificate, err := tare.NewEntry(map[string]string{"schema": "tare.certificate/1"})
	if err != nil {
		return err
	}
	return f.SaveProof("s/t", certificate)
}

// amend gives an episode a second verdict on its record, and a third on a further one.
func amend(f store.Store, ep tare.Episode) error {
	now, err := f.Find("r", ep)
	if err != nil {
		return err
	}
	if len(now.Verdicts) == 1 {
		v, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: now.Latest().Record, Outcome: tare.Unverified, Supersedes: now.Current})
		if err != nil {
			return err
		}
		if err := f.Amend("r", ep, nil, v); err != nil {
			return err
		}
	}
	if now, err = f.Find("r", ep); err != nil || len(now.Verdicts) > 2 {
		return err
	}
	further := now.Record
	further.Evidence.Scenario = &tare.ScenarioEvidence{Reviews: []tare.Review{{Record: now.Latest().Record, Answer: "yes", By: "a person"}}}
	rec, err := tare.NewEntry(further)
	if err != nil {
		return err
	}
	v, err := tare.NewEntry(tare.Verdict{Schema: tare.VerdictSchema, Record: rec.Hash, Outcome: tare.Pass, Supersedes: now.Current})
	if err != nil {
		return err
	}
	return f.Amend("r", ep, &rec, v)
}

// filled is how many entries fill keeps of three episodes, and fewest of one.
const (
	filled = 1 + 3*3 + 3 + 1
	fewest = 1 + 3 + 3 + 1
)

// loose opens a store that does not wait for the disk.
func loose(dir string) *store.Files {
	return store.OpenFilesOn(dir, ledger.Disk{Unsynced: true})
}

func verify(t *testing.T, dir string) ledger.Report {
	t.Helper()
	r, err := store.OpenFiles(dir).Verify()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEverythingIsAnEntry(t *testing.T) {
	dir := t.TempDir()
	f := loose(dir)
	if err := fill(f, 3); err != nil {
		t.Fatal(err)
	}
	r := verify(t, dir)
	if r.Head.Size != filled || r.Waiting != 0 || len(r.Findings)+len(r.Notes) > 0 {
		t.Errorf("the ledger of %d entries: %+v", filled, r)
	}
	got, err := f.Find("r", raced(0))
	if err != nil || len(got.Verdicts) != 3 || len(got.Record.Evidence.Scenario.Reviews) != 1 {
		t.Errorf("a reviewed episode reads as %+v, %v", got, err)
	}
	if got.Latest().Outcome != tare.Pass || got.Verdict().Outcome != tare.Fail {
		t.Errorf("latest %s, counted %s; a failure stays one", got.Latest().Outcome, got.Verdict().Outcome)
	}
}

// TestStoreOlderThanItsLedger adopts what an earlier tare kept.
func TestStoreOlderThanItsLedger(t *testing.T) {
	dir := t.TempDir()
	if err := fill(loose(dir), 3); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); r.Begun || len(r.Findings) != 0 || len(r.Notes) != filled {
		t.Errorf("a store without a ledger: %+v", r)
	}
	if err := fill(loose(dir), 3); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); r.Head.Size != filled || len(r.Findings)+len(r.Notes) > 0 {
		t.Errorf("after adopting: %+v", r)
	}
}

// tampering is something that somebody does to a store, and what must be said of it.
type tampering struct {
	name  string
	do    func(t *testing.T, dir string)
	kind  ledger.Kind
	where string // in the finding
}

func at(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no file fits %s (%v)", pattern, err)
	}
	return found[0]
}

// change rewrites the first file that fits a pattern.
func change(pattern string, how func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		name := at(t, dir, pattern)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, how(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		out := slices.Clone(b)
		out[(at+len(out))%len(out)] ^= 1
		return out
	}
}

func lines(how func([][]byte) [][]byte) func([]byte) []byte {
	return func(b []byte) []byte {
		all := bytes.SplitAfter(b, []byte("\n"))
		return bytes.Join(how(all[:len(all)-1]), nil)
	}
}

func more(b []byte) []byte { return append(slices.Clone(b), '\n') }
func less(b []byte) []byte { return b[:len(b)-1] }

func remove(pattern string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.RemoveAll(at(t, dir, pattern)); err != nil {
			t.Fatal(err)
		}
	}
}

func add(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func swap(a, b string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		x, y := at(t, dir, a), at(t, dir, b)
		if err := errors.Join(os.Rename(x, x+"~"), os.Rename(y, x), os.Rename(x+"~", y)); err != nil {
			t.Fatal(err)
		}
	}
}

// tamperings are of each kind, at each place.
func tamperings() []tampering {
	data, hashes, w := "ledger/tile/8/data/000.p/*", "ledger/tile/8/0/000.p/*", strconv.Itoa(filled)
	return []tampering{
		{"a byte of a record is another", change("runs/r/*/record.json", flip(40)), ledger.Flipped, "record.json"},
		{"a byte of the last verdict is another", change("runs/r/*/verdict-0003.json", flip(-3)), ledger.Flipped, "verdict-0003.json"},
		{"a byte is put behind a verdict", change("runs/r/*/verdict-0001-*.json", more), ledger.Flipped, "verdict-0001"},
		{"the last byte of a plan is cut off", change("runs/r/plan.json", less), ledger.Flipped, "runs/r/plan.json"},
		{"a record is emptied", change("runs/r/*/record.json", func([]byte) []byte { return nil }), ledger.Flipped, "record.json"},
		{"a certificate is another", change("certificates/*.json", flip(5)), ledger.Flipped, "certificates/"},
		{"a copy of a certificate is another", change("proofs/s/t.json", flip(5)), ledger.Flipped, "proofs/s/t.json"},
		{"a copy of a certificate is added", add("proofs/s/u.json", "{}"), ledger.Flipped, "proofs/s/u.json"},
		{"a correction is dropped", remove("runs/r/*/verdict-0003.json"), ledger.Dropped, "verdict-0003.json"},
		{"a further record is dropped", remove("runs/r/*/record-0003-*.json"), ledger.Dropped, "record-0003-"},
		{"a lost attempt is dropped", remove("runs/r/*/lost-0001.json"), ledger.Dropped, "lost-0001.json"},
		{"a whole run is dropped", remove("runs/r"), ledger.Dropped, "runs/r/plan.json"},
		{"a verdict is added", add("runs/r/x/verdict-0004.json", "{}"), ledger.Added, "runs/r/x/verdict-0004.json"},
		{"a certificate is added", add("certificates/0.json", "{}"), ledger.Added, "certificates/0.json"},
		{"two verdicts change places", swap("runs/r/*/verdict-0001-*.json", "runs/r/*/verdict-0002.json"), ledger.Reordered, "verdict-000"},
		{"a byte of a leaf is another", change(data, flip(30)), ledger.Flipped, "data/000.p/" + w},
		{"a line break between leaves is another byte", change(data, func(b []byte) []byte { return flip(bytes.IndexByte(b, '\n'))(b) }), ledger.Dropped, "data/000.p/" + w},
		{"a leaf is dropped", change(data, lines(func(l [][]byte) [][]byte { return slices.Delete(l, 4, 5) })), ledger.Dropped, "data/000.p/" + w},
		{"two leaves change places", change(data, lines(func(l [][]byte) [][]byte { l[2], l[7] = l[7], l[2]; return l })), ledger.Reordered, "data/000.p/" + w},
		{"a leaf is added", change(data, lines(func(l [][]byte) [][]byte { return append(l, []byte("{}\n")) })), ledger.Added, "data/000.p/" + w},
		{"a leaf stands there twice", change(data, lines(func(l [][]byte) [][]byte { return append(l, l[3]) })), ledger.Added, "data/000.p/" + w},
		{"a byte is put behind the leaves", change(data, more), ledger.Added, "data/000.p/" + w},
		{"the last byte of the leaves is cut off", change(data, less), ledger.Flipped, "data/000.p/" + w},
		{"the leaves are dropped", remove(data), ledger.Dropped, "data/000.p/" + w},
		{"a byte of a hash is another", change(hashes, flip(70)), ledger.Flipped, "0/000.p/" + w},
		{"the last byte of the hashes is cut off", change(hashes, less), ledger.Dropped, "0/000.p/" + w},
		{"a byte is put behind the hashes", change(hashes, more), ledger.Added, "0/000.p/" + w},
		{"the hashes are dropped", remove(hashes), ledger.Dropped, "0/000.p/" + w},
		{"a tile is added", add("ledger/tile/8/1/000.p/1", "x"), ledger.Added, "ledger/tile/8/1/000.p/1"},
		{"a tile of leaves is added", add("ledger/tile/8/data/000.p/200", "x\n"), ledger.Added, "data/000.p/200"},
		{"the head says one entry less", change("ledger/head", func(b []byte) []byte {
			return bytes.Replace(b, []byte("\n"+w+"\n"), []byte("\n"+strconv.Itoa(filled-1)+"\n"), 1)
		}), ledger.Flipped, "ledger/head"},
		{"the head says one entry more", change("ledger/head", func(b []byte) []byte {
			return bytes.Replace(b, []byte("\n"+w+"\n"), []byte("\n"+strconv.Itoa(filled+1)+"\n"), 1)
		}), ledger.Flipped, "ledger/head"},
		{"the root in the head is another", change("ledger/head", flip(22)), ledger.Flipped, "ledger/head"},
		{"the origin in the head is another", change("ledger/head", flip(0)), ledger.Flipped, "ledger/head"},
		{"a byte is put behind the head", change("ledger/head", more), ledger.Flipped, "ledger/head"},
		{"the head is dropped", remove("ledger/head"), ledger.Dropped, "ledger/head"},
		{"a file is added to the ledger", add("ledger/notes", "x"), ledger.Added, "ledger/notes"},
		{"something that is none is put into the inbox", add("ledger/inbox/1.kept", "{}"), ledger.Added, "ledger/inbox/1.kept"},
		{"a batch is made up", add("ledger/next", `{"from":`+w+`,"groups":[{"id":"1","leaves":[]}]}`), ledger.Added, "ledger/next"},
		{"a batch is no batch", add("ledger/next", "x"), ledger.Flipped, "ledger/next"},
		{"bytes are put into the lock", add("ledger/lock", "x"), ledger.Added, "ledger/lock"},
	}
}

func TestTamperingIsNamed(t *testing.T) {
	sound := t.TempDir()
	if err := fill(loose(sound), 3); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tamperings() {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "s")
			if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
				t.Fatal(err)
			}
			if r := verify(t, dir); len(r.Findings) > 0 {
				t.Fatalf("before: %+v", r.Findings)
			}
			tt.do(t, dir)
			r := verify(t, dir)
			if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Kind == tt.kind && strings.Contains(f.Where, tt.where) }) {
				t.Errorf("want %s at %s, got %+v", tt.kind, tt.where, r.Findings)
			}
		})
	}
}

// TestEveryByteOfTheLedgerCounts changes each byte of the ledger's own files, one at a time.
func TestEveryByteOfTheLedgerCounts(t *testing.T) {
	dir := t.TempDir()
	if err := fill(loose(dir), 3); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"ledger/head", "ledger/tile/8/data/000.p/*", "ledger/tile/8/0/000.p/*"} {
		name := at(t, dir, pattern)
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(was); i += 1 + len(was)/97 { // a prime, so that no place in a line is left out
			if err := os.WriteFile(name, flip(i)(was), 0o644); err != nil {
				t.Fatal(err)
			}
			if r := verify(t, dir); !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return strings.HasSuffix(name, filepath.FromSlash(f.Where)) }) {
				t.Fatalf("byte %d of %s was changed: %+v", i, name, r.Findings)
			}
		}
		if err := os.WriteFile(name, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRewrittenLogNeedsAnotherWitness makes a store anew without one of its entries. Nothing in it can show that; a head that was
// kept elsewhere does.
func TestRewrittenLogNeedsAnotherWitness(t *testing.T) {
	dir := t.TempDir()
	f := loose(dir)
	if err := fill(f, 3); err != nil {
		t.Fatal(err)
	}
	head, err := f.Ledger().Head()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Lost("r", raced(1), tare.Entry{Schema: "x/1", Bytes: []byte("{}"), Hash: tare.HashBytes([]byte("{}"))}); err != nil {
		t.Fatal(err)
	}
	if err := f.Ledger().Extends(head); err != nil {
		t.Errorf("a log that grew: %v", err)
	}
	remove("runs/r/*/verdict-0003.json")(t, dir)
	remove("ledger")(t, dir)
	if err := store.OpenFiles(dir).Ledger().Integrate(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); len(r.Findings) > 0 {
		t.Errorf("a log that was made anew: %+v", r.Findings)
	}
	if err := store.OpenFiles(dir).Ledger().Extends(head); err == nil {
		t.Error("a log that was made anew passes for the old one")
	}
}

const (
	killVar    = "TARE_TEST_KILL"
	killDirVar = "TARE_TEST_KILL_DIR"
)

// TestKilledAtEveryWrite ends a real process with SIGKILL at each step of each file that it writes, half-written ones too. Whatever
// it leaves verifies; the next one goes on from there; and in the end every entry is numbered once.
func TestKilledAtEveryWrite(t *testing.T) {
	if at := os.Getenv(killVar); at != "" {
		n, err := strconv.Atoi(at)
		if err != nil {
			t.Fatal(err)
		}
		step := 0
		f := store.OpenFilesOn(os.Getenv(killDirVar), ledger.Disk{Unsynced: true, Before: func(string, string) {
			if step++; step == n {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}})
		if err := fill(f, 1); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	scratch := t.TempDir()
	killed := 0
	for n := 1; ; n++ {
		dir := filepath.Join(scratch, strconv.Itoa(n))
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledAtEveryWrite$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killVar, n), killDirVar+"="+dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.Exited() {
			if err != nil {
				t.Fatalf("step %d: %v: %s", n, err, out)
			}
			break // it has no such step
		}
		killed++
		if r := verify(t, dir); len(r.Findings) > 0 {
			t.Fatalf("killed at step %d: %+v", n, r.Findings)
		}
		if err := fill(loose(dir), 1); err != nil {
			t.Fatalf("going on after step %d: %v", n, err)
		}
		r := verify(t, dir)
		if len(r.Findings) > 0 || r.Head.Size != fewest && r.Head.Size != fewest+1 {
			t.Fatalf("gone on after step %d: %d entries, %+v", n, r.Head.Size, r.Findings)
		}
		leaves, err := store.OpenFiles(dir).Ledger().Leaves(r.Head)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, leaf := range leaves {
			if seen[leaf.Name] {
				t.Errorf("killed at step %d: %s is numbered twice", n, leaf.Name)
			}
			seen[leaf.Name] = true
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("killed %d times", killed)
	if killed < 100 {
		t.Errorf("killed %d times; there are more steps than that", killed)
	}
	_ = filepath.WalkDir(scratch, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "next" {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// TestVerifyWhileOthersKeep verifies a database in which entries are kept and numbered meanwhile: nothing of it was done by somebody else.
func TestVerifyWhileOthersKeep(t *testing.T) {
	overDatabases(t, func(t *testing.T, d *store.DB) {
		if err := fill(d, 1); err != nil {
			t.Fatal(err)
		}
		stop, done := make(chan struct{}), make(chan error)
		go func() {
			var err error
			for i := 0; err == nil; i++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				var e tare.Entry
				if e, err = tare.NewEntry(map[string]any{"schema": "tare.answer/1", "n": i}); err == nil {
					err = errors.Join(d.Put(store.Answers, e), d.Ledger().Integrate())
				}
			}
			<-stop
			done <- err
		}()
		for range 30 {
			if r, err := d.Verify(); err != nil || len(r.Findings) > 0 {
				t.Errorf("%+v, %v", r.Findings, err)
				break
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestIntegrateBesideAnother integrates while another one is at it who looked before the last entry was kept: however that one ends, nothing
// waits afterwards. On SQLite nothing can be kept meanwhile.
func TestIntegrateBesideAnother(t *testing.T) {
	for name, end := range map[string]func(*sql.Tx) error{
		"that ends":         (*sql.Tx).Commit,
		"that is killed":    (*sql.Tx).Rollback,
		"that stands still": nil, // as one that was stopped, or whose machine is gone
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, err := storetest.Postgres(t).New()
			if err != nil {
				t.Fatal(err)
			}
			d := openDB(t, address)
			if err := fill(d, 1); err != nil {
				t.Fatal(err)
			}
			other, err := d.Integration()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Rollback()
			e, err := tare.NewEntry(map[string]any{"schema": "tare.answer/1"})
			if err := errors.Join(err, d.Put(store.Answers, e), d.TryIntegrate()); err != nil {
				t.Fatal(err)
			}
			if r, err := d.Verify(); err != nil || r.Waiting == 0 {
				t.Fatalf("the other one has not ended: %+v, %v", r, err)
			}
			integrated := make(chan error, 1)
			go func() { integrated <- d.Ledger().Integrate() }()
			for waits := false; !waits && len(integrated) == 0; time.Sleep(10 * time.Millisecond) {
				const q = "SELECT count(*) > 0 FROM pg_locks l JOIN pg_database b ON b.oid = l.database WHERE b.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted"
				if err := d.Writer().QueryRow(q).Scan(&waits); err != nil {
					t.Fatal(err)
				}
			}
			if end != nil {
				if err := end(other); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-integrated; err != nil {
				t.Error(err)
			}
			if end == nil {
				_ = other.Rollback() // the server has ended it, or it would have what was numbered twice
			}
			if r, err := d.Verify(); err != nil || len(r.Findings) > 0 || r.Waiting > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
