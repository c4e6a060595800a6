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
//	runs/RUN/EPISODE/verdict-0001.json     an entry; the highest number is the current one
//	proofs/SUITE/TASK.json                 certificates
//
// Every file is written beside its place and moved there whole, so that a killed writer leaves no half entry.
type Files struct {
	dir string
}

// OpenFiles opens the store at dir, which need not be there yet.
func OpenFiles(dir string) *Files { return &Files{dir: dir} }

// ErrNotFound means that the store does not hold what was asked for.
var ErrNotFound = errors.New("not in the store")

// A Result is one finished episode: its record and its verdicts, oldest first.
type Result struct {
	Record   tare.Record
	Verdicts []tare.Verdict
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
	return writeNew(path, plan.Bytes)
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

// Save keeps a finished episode with its first verdict. The record goes in last, and it is what a resume looks for, so an
// episode is finished or it is not.
func (f *Files) Save(run string, ep tare.Episode, record, verdict tare.Entry) error {
	dir := f.episode(run, ep)
	if _, err := os.Stat(filepath.Join(dir, "record.json")); err == nil {
		return fmt.Errorf("saving episode %s: it is finished already", short(ep.Key()))
	}
	first := filepath.Join(dir, "verdict-0001.json")
	if err := os.Remove(first); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a writer that was killed right here
		return fmt.Errorf("saving episode %s: %w", short(ep.Key()), err)
	}
	if err := writeNew(first, verdict.Bytes); err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, "record.json"), record.Bytes)
}

// Lost keeps the record of an attempt that infrastructure ended. It does not finish the episode.
func (f *Files) Lost(run string, ep tare.Episode, record tare.Entry) error {
	dir := f.episode(run, ep)
	names, err := filepath.Glob(filepath.Join(dir, "lost-*.json"))
	if err != nil {
		return fmt.Errorf("keeping a lost attempt: %w", err)
	}
	return writeNew(filepath.Join(dir, fmt.Sprintf("lost-%04d.json", len(names)+1)), record.Bytes)
}

// LostAttempts reads the records of the attempts at an episode that infrastructure ended, oldest first.
func (f *Files) LostAttempts(run string, ep tare.Episode) ([]tare.Record, error) {
	names, err := filepath.Glob(filepath.Join(f.episode(run, ep), "lost-*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing lost attempts: %w", err)
	}
	slices.Sort(names)
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

// Amend adds a verdict to a finished episode.
func (f *Files) Amend(run string, ep tare.Episode, verdict tare.Entry) error {
	dir := f.episode(run, ep)
	names, err := verdictNames(dir)
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, fmt.Sprintf("verdict-%04d.json", len(names)+1)), verdict.Bytes)
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
	path := filepath.Join(f.dir, "proofs", filepath.FromSlash(task)+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("keeping a certificate: %w", err)
	}
	tmp, err := writeTemp(path, certificate)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("keeping a certificate: %w", errors.Join(err, os.Remove(tmp)))
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

func verdictNames(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "verdict-*.json"))
	slices.Sort(names)
	return names, err
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
	names, err := verdictNames(dir)
	if err != nil {
		return r, fmt.Errorf("listing verdicts: %w", err)
	}
	hash := tare.HashBytes(b)
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
		r.Verdicts = append(r.Verdicts, v)
	}
	if len(r.Verdicts) == 0 {
		return r, fmt.Errorf("reading %s: there is a record and no verdict", dir)
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
