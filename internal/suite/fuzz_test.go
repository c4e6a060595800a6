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

// FuzzVuln loads a vulnerability of which anybody may have written task.yaml, a case, the names of variants and a report: it comes
// back whole or as an error that names a file of the folder, the same each time, and no secret of it is in the prompt.
func FuzzVuln(f *testing.F) {
	tree := greet(f)
	at := func(name string) []byte {
		file, _ := tree.Lookup(name)
		return file.Data
	}
	f.Add(at("task.yaml"), at("hidden/intent/long.cmd"), "seventeen.txt", at("reports/issue.md"))
	f.Add([]byte("schema: tare.task/1\nkind: vuln\npocs: &a [*a]\n"), []byte("./greet\n\n\x00"), "../../x", []byte{0xff})
	f.Add(bytes.Replace(at("task.yaml"), []byte("language: c"), []byte("language: go\nmodule: {path: a.b/c, vulnerable: v1, fixed: v2, hash: h1:, fixed_hash: h1:}"), 1), []byte("{input} {scratch}"), "long/long", []byte("tripwire-0123456789abcdef"))
	f.Add(bytes.ReplaceAll(at("task.yaml"), []byte("controls/"), []byte("seed/../")), []byte(" "), ".", []byte("# x"))
	f.Fuzz(func(t *testing.T, yaml, command []byte, variant string, report []byte) {
		over, err := tare.NewTree(tare.Tree{
			{Path: "hidden/intent/long.cmd", Mode: 0o644, Data: command}, {Path: "reports/issue.md", Mode: 0o644, Data: report},
			{Path: "task.yaml", Mode: 0o644, Data: yaml}, {Path: "variants/long/" + variant, Mode: 0o644, Data: []byte("a-variant-of-the-fuzzers\n")},
		})
		if err != nil {
			t.Skip("no folder can hold that path")
		}
		tree := tree.Overlay(over)
		task, err := load("s/t", tree)
		if (task == nil) == (err == nil) {
			t.Fatalf("got %v and %v", task, err)
		}
		if again, err2 := load("s/t", tree); (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() || err == nil && again.Hash != task.Hash {
			t.Fatalf("loaded again it is otherwise: %v, %v", err, err2)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s/t/") {
				t.Fatalf("the error names no file: %v", err)
			}
			return
		}
		if task.Kind != tare.Vuln {
			return // another kind of task was written
		}
		v := task.Vuln
		if v == nil || len(v.PoCs) == 0 || len(task.References) == 0 || len(task.Controls) < 3 || v.Intent == nil && v.Function == nil && v.Benign == nil {
			t.Fatalf("loaded by half: %+v", v)
		}
		for _, p := range v.PoCs {
			if len(p.Command) == 0 || p.Triggers == (tare.Trigger{}) {
				t.Fatalf("a PoC that starts or triggers nothing: %+v", p)
			}
		}
		if strings.Contains(task.Ticket, "a-variant-of-the-fuzzers") {
			t.Fatal("the prompt holds a hidden input")
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
