// Package store keeps runs: plans, trajectories, records and verdicts. Files is the store of one machine with nothing
// to install: a directory that people can read. What is written is never changed; a correction is a further verdict. All that
// is kept but trajectories, whose steps are in the records too, is an entry of the ledger beside it.
package store

import (
	"cmp"
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

// Files keeps runs below a directory:
//
//	runs/RUN/plan.json                     the plan, an entry
//	runs/RUN/EPISODE/trajectory.jsonl      as it happens; later attempts are trajectory-2.jsonl, …
//	runs/RUN/EPISODE/dialog.jsonl          the same in the form of other tools, once it is over; no entry, as result.json
//	runs/RUN/EPISODE/record.json           an entry; its presence means that the episode was played to its end
//	runs/RUN/EPISODE/lost-0001.json        the record of an attempt that infrastructure ended
//	runs/RUN/EPISODE/verdict-0001-….json   an entry, named after the record that it judges
//	runs/RUN/EPISODE/verdict-0002.json     a correction; the highest number is the latest one
//	runs/RUN/EPISODE/record-0002-….json    a further record, named by its hash, where verdict-0002 judges that
//	runs/RUN/EPISODE/result.json           of a vulnerability: the latest verdict as other tools read it, and no entry
//	certificates/….json                    certificates, named by their hashes; so are entries of other kinds: Put
//	proofs/SUITE/TASK.json                 a copy of the latest certificate of a task
//	ledger/…                               the log of all these entries
//
// Every file is written beside its place and moved there whole, so that a killed writer leaves no half entry. Nothing is
// locked: several programs may work on one store, and where two would write the same file, the first one's stands.
type Files struct {
	dir    string
	disk   ledger.Disk
	ledger *ledger.Log
}

// OpenFiles opens the store at dir, which need not be there yet.
func OpenFiles(dir string) *Files { return openFiles(dir, ledger.Disk{}) }

func openFiles(dir string, disk ledger.Disk) *Files {
	return &Files{dir: dir, disk: disk, ledger: ledger.Open(filepath.Join(dir, "ledger"), entryFiles(dir), disk)}
}

// Verify holds everything that is kept against the ledger, and copies of certificates against these.
func (f *Files) Verify() (ledger.Report, error) {
	r, err := f.ledger.Verify()
	if err != nil || !r.Begun {
		return r, err
	}
	kept, err := f.All(Certificates)
	if err != nil {
		return r, err
	}
	err = filepath.WalkDir(filepath.Join(f.dir, "proofs"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (e.IsDir() || strings.HasPrefix(e.Name(), ledger.TempPrefix)) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if hash := tare.HashBytes(b); !slices.ContainsFunc(kept, func(c tare.Entry) bool { return c.Hash == hash }) {
			name, err := filepath.Rel(f.dir, path)
			if err != nil {
				return err
			}
			r.Findings = append(r.Findings, ledger.Finding{Kind: ledger.Flipped, Where: filepath.ToSlash(name), What: "it is no copy of a certificate that was kept; tare prove makes one"})
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("verifying certificates: %w", err)
	}
	return r, nil
}

// Ledger is the log of all that the store keeps.
func (f *Files) Ledger() Ledger { return f.ledger }

// Close is there since a Store has it: files need no closing.
func (f *Files) Close() error { return nil }

// Ready makes the store's directory and says why nothing can be kept there, if that is so: better before hours of work than
// after them.
func (f *Files) Ready() error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(f.dir, ".tmp-*")
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

func (f *Files) run(id string) string { return filepath.Join(f.dir, "runs", id) }

func (f *Files) episode(run string, ep tare.Episode) string {
	return filepath.Join(f.run(run), short(ep.Key()))
}

// short is the part of a digest that names a directory: 16 hexadecimal digits.
func short(d tare.Digest) string {
	hex := strings.TrimPrefix(string(d), "sha256:")
	return hex[:min(16, len(hex))]
}

// Begin notes the plan of a run. The same plan may begin again.
func (f *Files) Begin(run string, plan tare.Entry) error {
	path := filepath.Join(f.run(run), "plan.json")
	old, err := os.ReadFile(path)
	switch {
	case err == nil && tare.HashBytes(old) == plan.Hash:
		return f.ledger.Integrate() // what a killed program left
	case err == nil:
		return fmt.Errorf("beginning run %s: the store holds another plan under that name", run)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("beginning run %s: %w", run, err)
	}
	err = f.keep(func() error { return f.disk.WriteNew(path, plan.Bytes) }, entryAt{path, plan})
	if errors.Is(err, fs.ErrExist) { // another program began just now
		return f.Begin(run, plan)
	}
	return err
}

// Plan reads the plan of a run into v.
func (f *Files) Plan(run string, v any) error {
	b, err := os.ReadFile(filepath.Join(f.run(run), "plan.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("reading the plan of run %s: %w", run, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("reading the plan of run %s: %w", run, err)
	}
	return nil
}

// Runs lists the runs, the newest first.
func (f *Files) Runs() ([]string, error) {
	dirs, err := os.ReadDir(filepath.Join(f.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	type dated struct {
		id string
		at time.Time
	}
	var all []dated
	for _, d := range dirs {
		info, err := os.Stat(filepath.Join(f.dir, "runs", d.Name(), "plan.json"))
		if err == nil {
			all = append(all, dated{d.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id))
	})
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.id
	}
	return out, nil
}

// Trajectory opens a new file for the trajectory of an attempt; earlier attempts stay.
func (f *Files) Trajectory(run string, ep tare.Episode) (io.WriteCloser, error) {
	return newTrajectory(f.episode(run, ep))
}

// Save keeps a finished episode with its first verdict, or says ErrFinished. The record goes in last, and it is what a
// resume looks for, so an episode is finished or it is not. Of several that save one episode at once, the one whose record
// gets there first wins; the verdict of another names another record in its file's name, so the two are never mixed.
func (f *Files) Save(run string, ep tare.Episode, record, verdict tare.Entry) error {
	dir := f.episode(run, ep)
	saving := func(err error) error { return fmt.Errorf("saving episode %s: %w", short(ep.Key()), err) }
	path := filepath.Join(dir, "record.json")
	if _, err := os.Stat(path); err == nil {
		return saving(ErrFinished)
	}
	first := filepath.Join(dir, firstVerdict(record.Hash))
	err := f.keep(func() error {
		if err := f.disk.Replace(first, verdict.Bytes); err != nil { // what a writer left there who was killed right here is no verdict yet
			return saving(err)
		}
		err := f.disk.WriteNew(path, record.Bytes)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if b, err := os.ReadFile(path); err == nil && tare.HashBytes(b) != record.Hash {
			_ = f.disk.Remove(first) // one that stays behind judges a record that is not there, and is not read
		}
		return saving(ErrFinished)
	}, entryAt{first, verdict}, entryAt{path, record})
	return err
}

// An entryAt is an entry and the file that it goes into.
type entryAt struct {
	path  string
	entry tare.Entry
}

// keep lets write write the files of entries, between their announcement in the ledger and their numbers.
func (f *Files) keep(write func() error, entries ...entryAt) error {
	leaves := make([]ledger.Leaf, len(entries))
	for i, e := range entries {
		name, err := filepath.Rel(f.dir, e.path)
		if err != nil {
			return fmt.Errorf("naming an entry: %w", err)
		}
		leaves[i] = ledger.LeafOf(filepath.ToSlash(name), e.entry)
	}
	return f.ledger.Append(leaves, write)
}

// Lost keeps the record of an attempt that infrastructure ended. It does not finish the episode.
func (f *Files) Lost(run string, ep tare.Episode, record tare.Entry) error {
	for n := 1; ; n++ {
		path := filepath.Join(f.episode(run, ep), fmt.Sprintf("lost-%04d.json", n))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		err := f.keep(func() error { return f.disk.WriteNew(path, record.Bytes) }, entryAt{path, record})
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// LostAttempts reads the records of the attempts at an episode that infrastructure ended, oldest first.
func (f *Files) LostAttempts(run string, ep tare.Episode) ([]tare.Record, error) {
	names, err := named(f.episode(run, ep), "lost-")
	if err != nil {
		return nil, fmt.Errorf("listing lost attempts: %w", err)
	}
	var out []tare.Record
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a lost attempt: %w", err)
		}
		var rec tare.Record
		if err := json.Unmarshal(b, &rec); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		out = append(out, rec)
	}
	return out, nil
}

// Finished reads the record of an episode and the verdict that counts, if it is finished.
func (f *Files) Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error) {
	return finishedBy(f, run, ep)
}

// Amend adds a verdict to a finished episode. It must supersede the latest one, else the error is ErrNotCurrent: of two
// that correct the same verdict at once, one is kept. With further it judges that record, which is joined to the one before
// and kept beside it; with none, the record that is there.
func (f *Files) Amend(run string, ep tare.Episode, further *tare.Entry, verdict tare.Entry) error {
	amending := func(err error) error { return fmt.Errorf("amending episode %s: %w", short(ep.Key()), err) }
	now, err := f.Find(run, ep)
	if err != nil {
		return amending(err)
	}
	if _, err := now.amendment(further, verdict); err != nil {
		return amending(err)
	}
	dir, n := f.episode(run, ep), len(now.Verdicts)+1
	added := []entryAt{{filepath.Join(dir, fmt.Sprintf("verdict-%04d.json", n)), verdict}}
	if further != nil {
		added = append(added, entryAt{recordFile(dir, n, further.Hash), *further})
	}
	err = f.keep(func() error {
		if further != nil { // the verdict goes in last: a further record counts with its verdict
			if err := f.disk.WriteNew(added[1].path, further.Bytes); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return f.disk.WriteNew(added[0].path, verdict.Bytes)
	}, added...)
	if errors.Is(err, fs.ErrExist) {
		return amending(ErrNotCurrent)
	}
	return err
}

// recordFile is the file of the record that verdict n of an episode judges, where it is another than the first.
func recordFile(dir string, n int, hash tare.Digest) string {
	return filepath.Join(dir, recordName(n, hash))
}

// Find reads a finished episode, or says ErrNotFound.
func (f *Files) Find(run string, ep tare.Episode) (Result, error) {
	return readResult(directory(f.episode(run, ep)))
}

// Episodes reads all finished episodes of a run, in the order of their task, agent and trial.
func (f *Files) Episodes(run string) ([]Result, error) {
	dirs, err := os.ReadDir(f.run(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("reading run %s: %w", run, err)
	}
	var out []Result
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		r, err := readResult(directory(filepath.Join(f.run(run), d.Name())))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, byEpisode)
	return out, nil
}

func byEpisode(a, b Result) int {
	x, y := a.Record.Trajectory.Episode, b.Record.Trajectory.Episode
	return cmp.Or(cmp.Compare(x.Task, y.Task), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Trial, y.Trial))
}

// rooms hold entries that belong to no run.
var rooms = [...]string{Certificates, Admissions, Answers}

// Names of the views of an episode that other programs read.
const (
	ResultView = "result.json"  // of the latest verdict on a vulnerability
	DialogView = "dialog.jsonl" // of what the agent did
)

var views = [...]string{ResultView, DialogView}

// SaveView keeps a view of an episode for other programs, in place of an older one. It is no entry: it can be made again from
// record and verdict.
func (f *Files) SaveView(run string, ep tare.Episode, name string, view []byte) error {
	if err := f.disk.Replace(filepath.Join(f.episode(run, ep), name), view); err != nil {
		return fmt.Errorf("keeping %s: %w", name, err)
	}
	return nil
}

// SaveProof keeps the certificate of a task, and puts a copy in the place of that of an older one: a certificate speaks of the
// present grader. The older one stays among the certificates.
func (f *Files) SaveProof(task string, certificate tare.Entry) error {
	if err := f.Put(Certificates, certificate); err != nil {
		return err
	}
	if err := f.disk.Replace(filepath.Join(f.dir, "proofs", filepath.FromSlash(task)+".json"), certificate.Bytes); err != nil {
		return fmt.Errorf("keeping a certificate: %w", err)
	}
	return nil
}

// Put keeps an entry that belongs to no run in a room, once.
func (f *Files) Put(room string, e tare.Entry) error {
	path := filepath.Join(f.dir, room, short(e.Hash)+".json")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	err := f.keep(func() error { return f.disk.WriteNew(path, e.Bytes) }, entryAt{path, e})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping one of the %s: %w", room, err)
	}
	return nil
}

// All reads the entries of a room, in the order of their hashes.
func (f *Files) All(room string) ([]tare.Entry, error) {
	names, err := named(filepath.Join(f.dir, room), "")
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", room, err)
	}
	var out []tare.Entry
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading one of the %s: %w", room, err)
		}
		var head struct {
			Schema string `json:"schema"`
		}
		if err := json.Unmarshal(b, &head); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		out = append(out, tare.Entry{Schema: head.Schema, Bytes: b, Hash: tare.HashBytes(b)})
	}
	return out, nil
}

// FindProof reads the certificate of a task, or says ErrNotFound.
func (f *Files) FindProof(task string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(f.dir, "proofs", filepath.FromSlash(task)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("certificate of %s: %w", task, ErrNotFound)
	}
	return b, err
}

// named lists the entries in dir whose names begin with prefix, sorted. A pattern would trip over a dir called "a[1]".
func named(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".json") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// entryFiles are the entries below a store's directory, by their paths from there.
type entryFiles string

// Read reads an entry, or says fs.ErrNotExist.
func (d entryFiles) Read(name string) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("reading entry %s: %w", name, fs.ErrNotExist)
	}
	return os.ReadFile(filepath.Join(string(d), filepath.FromSlash(name)))
}

// Names lists all files that are, or pass for, entries: everything in runs and rooms but trajectories, views and what is half written.
func (d entryFiles) Names() ([]string, error) {
	var out []string
	for _, room := range append([]string{"runs"}, rooms[:]...) {
		err := filepath.WalkDir(filepath.Join(string(d), room), func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.IsDir(), strings.HasPrefix(e.Name(), ledger.TempPrefix), strings.HasPrefix(e.Name(), "trajectory"), slices.Contains(views[:], e.Name()):
				return nil
			}
			name, err := filepath.Rel(string(d), path)
			if err != nil {
				return err
			}
			out = append(out, filepath.ToSlash(name))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing entries: %w", err)
		}
	}
	return out, nil
}
