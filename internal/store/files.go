// Package store keeps runs: plans, trajectories, records and verdicts. Files is the store of one machine with nothing
// to install: a directory that people can read. What is written is never changed; a correction is a further verdict.
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
)

// Files keeps runs below a directory:
//
//	runs/RUN/plan.json                     the plan, an entry
//	runs/RUN/EPISODE/trajectory.jsonl      as it happens; later attempts are trajectory-2.jsonl, …
//	runs/RUN/EPISODE/record.json           an entry; its presence means that the episode was played to its end
//	runs/RUN/EPISODE/lost-0001.json        the record of an attempt that infrastructure ended
//	runs/RUN/EPISODE/verdict-0001-….json   an entry, named after the record that it judges
//	runs/RUN/EPISODE/verdict-0002.json     a correction; the highest number is the current one
//	proofs/SUITE/TASK.json                 certificates
//
// Every file is written beside its place and moved there whole, so that a killed writer leaves no half entry. Nothing is
// locked: several programs may work on one store, and where two would write the same file, the first one's stands.
type Files struct {
	dir string
}

// OpenFiles opens the store at dir, which need not be there yet.
func OpenFiles(dir string) *Files { return &Files{dir: dir} }

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

// ErrNotFound means that the store does not hold what was asked for.
var ErrNotFound = errors.New("not in the store")

// ErrFinished means that the store holds a record of that episode: another attempt was there first, and its record stands.
var ErrFinished = errors.New("it is finished already")

// ErrNotCurrent means that a verdict would correct one that is not, or is no more, the current one.
var ErrNotCurrent = errors.New("it corrects a verdict that is not the current one")

// A Result is one finished episode: its record and its verdicts, oldest first.
type Result struct {
	Record   tare.Record
	Verdicts []tare.Verdict
	Current  tare.Digest // of the last verdict's entry: what a correction must name
}

// Verdict is the current one.
func (r Result) Verdict() tare.Verdict { return r.Verdicts[len(r.Verdicts)-1] }

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
		return nil
	case err == nil:
		return fmt.Errorf("beginning run %s: the store holds another plan under that name", run)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("beginning run %s: %w", run, err)
	}
	err = writeNew(path, plan.Bytes)
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
	dir := f.episode(run, ep)
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
	first := filepath.Join(dir, "verdict-0001-"+short(record.Hash)+".json")
	if err := replace(first, verdict.Bytes); err != nil { // what a writer left there who was killed right here is no verdict yet
		return saving(err)
	}
	err := writeNew(path, record.Bytes)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if b, err := os.ReadFile(path); err == nil && tare.HashBytes(b) != record.Hash {
		_ = os.Remove(first) // one that stays behind judges a record that is not there, and is not read
	}
	return saving(ErrFinished)
}

// Lost keeps the record of an attempt that infrastructure ended. It does not finish the episode.
func (f *Files) Lost(run string, ep tare.Episode, record tare.Entry) error {
	for n := 1; ; n++ {
		err := writeNew(filepath.Join(f.episode(run, ep), fmt.Sprintf("lost-%04d.json", n)), record.Bytes)
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

// Finished reads the record and the current verdict of an episode, if it is finished.
func (f *Files) Finished(run string, ep tare.Episode) (tare.Record, tare.Verdict, bool, error) {
	r, err := f.Find(run, ep)
	if errors.Is(err, ErrNotFound) {
		return tare.Record{}, tare.Verdict{}, false, nil
	}
	if err != nil {
		return tare.Record{}, tare.Verdict{}, false, err
	}
	return r.Record, r.Verdict(), true, nil
}

// Amend adds a verdict to a finished episode. It must supersede the current one, else the error is ErrNotCurrent: of two
// that correct the same verdict at once, one is kept.
func (f *Files) Amend(run string, ep tare.Episode, verdict tare.Entry) error {
	amending := func(err error) error { return fmt.Errorf("amending episode %s: %w", short(ep.Key()), err) }
	now, err := f.Find(run, ep)
	if err != nil {
		return amending(err)
	}
	var v tare.Verdict
	if err := json.Unmarshal(verdict.Bytes, &v); err != nil {
		return amending(err)
	}
	if v.Supersedes != now.Current {
		return amending(ErrNotCurrent)
	}
	err = writeNew(filepath.Join(f.episode(run, ep), fmt.Sprintf("verdict-%04d.json", len(now.Verdicts)+1)), verdict.Bytes)
	if errors.Is(err, fs.ErrExist) {
		return amending(ErrNotCurrent)
	}
	return err
}

// Find reads a finished episode, or says ErrNotFound.
func (f *Files) Find(run string, ep tare.Episode) (Result, error) {
	return readResult(f.episode(run, ep))
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
		r, err := readResult(filepath.Join(f.run(run), d.Name()))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Result) int {
		x, y := a.Record.Trajectory.Episode, b.Record.Trajectory.Episode
		return cmp.Or(cmp.Compare(x.Task, y.Task), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Trial, y.Trial))
	})
	return out, nil
}

// SaveProof keeps the certificate of a task, in place of an older one: a certificate speaks of the present grader.
func (f *Files) SaveProof(task string, certificate []byte) error {
	if err := replace(filepath.Join(f.dir, "proofs", filepath.FromSlash(task)+".json"), certificate); err != nil {
		return fmt.Errorf("keeping a certificate: %w", err)
	}
	return nil
}

// FindProof reads the certificate of a task, or says ErrNotFound.
func (f *Files) FindProof(task string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(f.dir, "proofs", filepath.FromSlash(task)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("certificate of %s: %w", task, ErrNotFound)
	}
	return b, err
}

// verdictNames lists the verdicts on a record, oldest first. The first verdict of another attempt, whose record came too
// late, is none of them.
func verdictNames(dir string, record tare.Digest) ([]string, error) {
	names, err := named(dir, "verdict-")
	return slices.DeleteFunc(names, func(name string) bool {
		_, of, first := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "verdict-"), ".json"), "-")
		return first && of != short(record)
	}), err
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

func readResult(dir string) (Result, error) {
	var r Result
	b, err := os.ReadFile(filepath.Join(dir, "record.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("episode %s: %w", filepath.Base(dir), ErrNotFound)
	}
	if err != nil {
		return r, fmt.Errorf("reading a record: %w", err)
	}
	if err := json.Unmarshal(b, &r.Record); err != nil {
		return r, fmt.Errorf("reading %s: %w", filepath.Join(dir, "record.json"), err)
	}
	hash := tare.HashBytes(b)
	names, err := verdictNames(dir, hash)
	if err != nil {
		return r, fmt.Errorf("listing verdicts: %w", err)
	}
	for _, name := range names {
		vb, err := os.ReadFile(name)
		if err != nil {
			return r, fmt.Errorf("reading a verdict: %w", err)
		}
		var v tare.Verdict
		if err := json.Unmarshal(vb, &v); err != nil {
			return r, fmt.Errorf("reading %s: %w", name, err)
		}
		if v.Record != hash {
			return r, fmt.Errorf("reading %s: it judges record %s, but record.json has the hash %s", name, v.Record, hash)
		}
		r.Verdicts, r.Current = append(r.Verdicts, v), tare.HashBytes(vb)
	}
	if len(r.Verdicts) == 0 {
		return r, fmt.Errorf("reading %s: no verdict judges record.json, which has the hash %s; one of them was changed or removed", dir, hash)
	}
	return r, nil
}

// writeNew writes a file that must not be there yet, whole or not at all.
func writeNew(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	tmp, err := writeTemp(path, b)
	if err != nil {
		return err
	}
	// A hard link, unlike a rename, refuses to replace.
	err = os.Link(tmp, path)
	if rm := os.Remove(tmp); err == nil {
		err = rm
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// replace writes a file, whole or not at all, in place of one that may be there.
func replace(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	tmp, err := writeTemp(path, b)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(tmp)))
	}
	return nil
}

func writeTemp(path string, b []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return f.Name(), nil
}
