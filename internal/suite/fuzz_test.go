package suite

import (
	"archive/zip"
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare"
)

// FuzzTask loads a task whose task.yaml, ticket and random cases anybody may have written: it must come back whole, or
// as an error that names a file of the folder, and never bring the program down. What comes back is the same each time, and
// from an archive too; and what loading costs in memory is bounded by what there is to load.
func FuzzTask(f *testing.F) {
	tree := queue(f)
	at := func(name string) []byte {
		file, _ := tree.Lookup(name)
		return file.Data
	}
	f.Add(at("task.yaml"), at("ticket.md"), at("cases.jsonl"))
	f.Add([]byte("a: &a [*a]\n"), []byte("1. x\n\n1) y"), []byte("[[[[{}"))
	f.Add([]byte("? - - - {[: |\n  !!x 'y'\n--- >-\n..."), []byte("```\n1. x"), []byte(`{"want": {"$set": [{"$dict": [[1e5, -0]]}]}}`))
	f.Fuzz(func(t *testing.T, yaml, ticket, cases []byte) {
		tree := tree.Overlay(tare.Tree{
			{Path: "cases.jsonl", Mode: 0o644, Data: cases}, {Path: "task.yaml", Mode: 0o644, Data: yaml}, {Path: "ticket.md", Mode: 0o644, Data: ticket},
		})
		var task *tare.Task
		var err error
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		done := make(chan struct{})
		go func() {
			defer close(done)
			task, err = load("s/t", tree)
		}()
		select { // the fuzzer waits for ever for an input that takes for ever, and does not show it
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("loading takes more than 20 s")
		}
		runtime.ReadMemStats(&after)
		if cost, size := after.TotalAlloc-before.TotalAlloc, len(yaml)+len(ticket)+len(cases); cost > uint64(loadCost+loadCostEach*size) {
			t.Fatalf("loading %d bytes took %d bytes of memory", size, cost)
		}
		if (task == nil) == (err == nil) {
			t.Fatalf("got %v and %v", task, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s/t/") {
				t.Fatalf("the error names no file: %v", err)
			}
			return
		}
		if len(task.References) < 2 || len(task.Cases) == 0 || len(task.Controls) < 6 {
			t.Fatalf("loaded by half: %+v", task)
		}
		var archive bytes.Buffer
		w := zip.NewWriter(&archive)
		var files []tare.File
		for _, f := range tree {
			f.Path = "t/" + f.Path
			files = append(files, f)
		}
		root, err := parseYAML(yaml)
		if err != nil {
			t.Fatalf("a task was loaded of what cannot be parsed: %v", err)
		}
		files = append(files, tare.File{Path: "t" + parsedSuffix, Mode: 0o644, Data: encodeParsed(yaml, root)})
		if err := errors.Join(addFiles(w, files), w.Close()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := FromArchive("s", archive.Bytes())
			if err != nil {
				t.Fatalf("from the archive: %v", err)
			}
			if diff := cmp.Diff(task, s.Tasks[0], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("from the archive it is another: %s", diff)
			}
		}
	})
}

// What loading a task may allocate in all: for the folder of the test, and for each byte of what the fuzzer wrote.
const (
	loadCost     = 2 << 20
	loadCostEach = 2_000
)

// FuzzArchive reads an archive that anybody may have made.
func FuzzArchive(f *testing.F) {
	archive, err := Pack(suiteFolder(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := FromArchive("s", b)
		if (s == nil) == (err == nil) {
			t.Fatalf("got %v and %v", s, err)
		}
	})
}
