package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare"
)

// A folder is the entries of one episode, by the last part of their names.
type folder interface {
	title() string
	read(name string) ([]byte, error) // or fs.ErrNotExist
	names(prefix string) ([]string, error)
}

// directory is a folder of files.
type directory string

func (d directory) title() string { return string(d) }

func (d directory) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), name))
}

func (d directory) names(prefix string) ([]string, error) {
	paths, err := named(string(d), prefix)
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths, err
}

// recordName is the name of the record that verdict n of an episode judges, where it is another than the first.
func recordName(n int, hash tare.Digest) string {
	return fmt.Sprintf("record-%04d-%s.json", n, short(hash))
}

// firstVerdict is the name of the first verdict on a record.
func firstVerdict(record tare.Digest) string { return "verdict-0001-" + short(record) + ".json" }

// verdictNames lists the verdicts on a record, oldest first. The first verdict of another attempt, whose record came too
// late, is none of them.
func verdictNames(f folder, record tare.Digest) ([]string, error) {
	names, err := f.names("verdict-")
	return slices.DeleteFunc(names, func(name string) bool {
		_, of, first := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "verdict-"), ".json"), "-")
		return first && of != short(record)
	}), err
}

// readResult reads a finished episode, or says ErrNotFound.
func readResult(f folder) (Result, error) {
	var r Result
	b, err := f.read("record.json")
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("episode %s: %w", filepath.Base(f.title()), ErrNotFound)
	}
	if err != nil {
		return r, fmt.Errorf("reading a record: %w", err)
	}
	hash := tare.HashBytes(b)
	names, err := verdictNames(f, hash)
	if err != nil {
		return r, fmt.Errorf("listing verdicts: %w", err)
	}
	for n, name := range names {
		vb, err := f.read(name)
		if err != nil {
			return r, fmt.Errorf("reading a verdict: %w", err)
		}
		var v tare.Verdict
		if err := json.Unmarshal(vb, &v); err != nil {
			return r, fmt.Errorf("reading %s: %w", name, err)
		}
		if v.Record != hash && n > 0 {
			if b, err = f.read(recordName(n+1, v.Record)); err != nil {
				return r, fmt.Errorf("reading the record that %s judges: %w", name, err)
			}
			hash = tare.HashBytes(b)
		}
		if v.Record != hash {
			return r, fmt.Errorf("reading %s: it judges record %s, but record.json has the hash %s", name, v.Record, hash)
		}
		r.Verdicts, r.Current = append(r.Verdicts, v), tare.HashBytes(vb)
	}
	if len(r.Verdicts) == 0 {
		return r, fmt.Errorf("reading %s: no verdict judges record.json, which has the hash %s; one of them was changed or removed", f.title(), hash)
	}
	if err := json.Unmarshal(b, &r.Record); err != nil {
		return r, fmt.Errorf("reading a record in %s: %w", f.title(), err)
	}
	return r, nil
}
