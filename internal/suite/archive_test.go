package suite

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

func TestArchiveIsTheFolder(t *testing.T) {
	dir := suiteFolder(t)
	write(t, dir, tare.Tree{{Path: "README.md", Mode: 0o644, Data: []byte("not part of it")}, {Path: ".cache/x", Mode: 0o644}})
	task := filepath.Join(dir, "empty_queue")
	write(t, task, tare.Tree{
		{Path: "seed/src/run.sh", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
		{Path: "seed/src/link", Mode: linkMode, Data: []byte("queue.py")},
		{Path: "seed/data.bin", Mode: 0o644, Data: []byte{0, 255, '\r', '\n', 0x80}},
		{Path: "seed/empty", Mode: 0o644},
		{Path: "seed/go.mod", Mode: 0o644, Data: []byte("module x\n")},
		{Path: "seed/_hidden/.dot", Mode: 0o644, Data: []byte("x")},
	})
	disk, err := LoadSuite(dir)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := Pack(dir)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := FromArchive("queues", archive)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(disk, packed); diff != "" {
		t.Errorf("disk and archive differ:\n%s", diff)
	}
	seed := packed.Tasks[0].Seed
	for name, mode := range map[string]fs.FileMode{"src/run.sh": 0o755, "src/link": linkMode, "data.bin": 0o644, "empty": 0o644, "go.mod": 0o644, "_hidden/.dot": 0o644} {
		if f, ok := seed.Lookup(name); !ok || f.Mode != mode {
			t.Errorf("%s: %v %v", name, ok, f.Mode)
		}
	}

	// A checkout elsewhere, by somebody with another umask, at another time, with an empty folder left over.
	again := filepath.Join(t.TempDir(), "queues")
	if err := os.CopyFS(filepath.Join(again, "empty_queue"), os.DirFS(task)); err != nil {
		t.Fatal(err)
	}
	then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	err = filepath.WalkDir(again, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = errors.Join(os.Chtimes(p, then, then), os.Chmod(p, 0o611|mode(t, p)&0o100))
		}
		return err
	})
	if err == nil {
		err = os.MkdirAll(filepath.Join(again, "empty_queue", "seed", "nothing"), 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := Pack(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(archive, other) || !SameContent(archive, other) {
		t.Error("the same folder gave another archive")
	}

	if err := os.Chmod(filepath.Join(again, "empty_queue", "seed", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if other, err = Pack(again); err != nil || SameContent(archive, other) {
		t.Errorf("another mode gave the same archive (%v)", err)
	}
	if moved, err := LoadSuite(again); err != nil || moved.Hash == disk.Hash || moved.Tasks[0].Hash == disk.Tasks[0].Hash {
		t.Errorf("another mode gave the same hash (%v)", err)
	}
}

// TestArchiveOfAnotherMaker reads an archive whose modes are those of somebody's disk, and which has no parsed form.
func TestArchiveOfAnotherMaker(t *testing.T) {
	tree := queue(t)
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range tree {
		h := &zip.FileHeader{Name: "empty_queue/" + f.Path, Method: zip.Store}
		h.SetMode(f.Mode | 0o020)
		out, err := w.CreateHeader(h)
		if err == nil {
			_, err = out.Write(f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := FromArchive("queues", buf.Bytes())
	if err != nil || s.Tasks[0].Hash != tree.Digest() {
		t.Errorf("got %+v, %v", s, err)
	}
}

func mode(t *testing.T, p string) fs.FileMode {
	info, err := os.Lstat(p)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestArchiveRefusals(t *testing.T) {
	type entry struct {
		name string
		mode fs.FileMode
		size int
	}
	for name, tt := range map[string]struct {
		entries []entry
		want    string
	}{
		"empty":        {nil, "the archive is empty"},
		"no task":      {[]entry{{"a", 0o644, 1}}, `entry "a" lies in no task's folder`},
		"folder":       {[]entry{{"a/b/", fs.ModeDir | 0o755, 0}}, "neither a file nor a symbolic link"},
		"device":       {[]entry{{"a/b", fs.ModeDevice, 0}}, "neither a file nor a symbolic link"},
		"climbs":       {[]entry{{"a/../b", 0o644, 1}}, "not a clean relative path"},
		"absolute":     {[]entry{{"a//etc/passwd", 0o644, 1}}, "not a clean relative path"},
		"twice":        {[]entry{{"a/b", 0o644, 1}, {"a/b", 0o644, 1}}, "occurs twice"},
		"no task.yaml": {[]entry{{"a/b", 0o644, 1}}, "s/a: the folder holds no task.yaml"},
		"name":         {[]entry{{"a b/task.yaml", 0o644, 1}}, "s/a b: the folder's name cannot be part of a task's id"},
		"bomb":         {[]entry{{"a/b", 0o644, MaxBytes + 1}}, "more than 20000 files or 64 MB"},
		"two halves":   {[]entry{{"a/b", 0o644, MaxBytes/2 + 1}, {"a/c", 0o644, MaxBytes/2 + 1}}, "more than 20000 files or 64 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			w := zip.NewWriter(&buf)
			for _, e := range tt.entries {
				h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
				h.SetMode(e.mode)
				out, err := w.CreateHeader(h)
				if err == nil && e.size > 0 {
					_, err = out.Write(make([]byte, e.size))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := FromArchive("s", buf.Bytes())
			if got := problems(err); s != nil || !strings.Contains(got, tt.want) {
				t.Errorf("got %v, %q; want %q", s, got, tt.want)
			}
		})
	}
	if _, err := FromArchive("s", []byte("no zip")); !strings.Contains(problems(err), "s: reading the archive: zip: not a valid zip file") {
		t.Errorf("no zip: %v", err)
	}
}

func TestFolderRefusals(t *testing.T) {
	tmp := t.TempDir()
	folder := func(name string, files ...tare.File) string {
		dir := filepath.Join(tmp, name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		write(t, dir, files)
		return dir
	}
	big := folder("big")
	if err := os.Mkdir(filepath.Join(big, "task"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, big, []tare.File{{Path: "task/task.yaml", Mode: 0o644}})
	sparse, err := os.Create(filepath.Join(big, "task", "sparse"))
	if err == nil {
		err = errors.Join(sparse.Truncate(MaxBytes+1), sparse.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	bad := folder("bad", tare.File{Path: "a_task/task.yaml", Mode: 0o644, Data: []byte("x: 1\n")}, tare.File{Path: "b_task/x", Mode: 0o644})
	for _, tt := range []struct{ dir, want string }{
		{folder("nothing"), "nothing: neither the folder nor one in it holds a task.yaml"},
		{folder("wrong", tare.File{Path: "a/x", Mode: 0o644}, tare.File{Path: "b/x", Mode: 0o644}), "wrong: neither the folder nor one in it holds a task.yaml"},
		{folder("half", tare.File{Path: "seed/x", Mode: 0o644}, tare.File{Path: "hidden/probe.py", Mode: 0o644}), "half: this looks like the folder of a task, but holds no task.yaml"},
		{folder("told", tare.File{Path: "ticket.md", Mode: 0o644}), "told: this looks like the folder of a task, but holds no task.yaml"},
		{filepath.Join(tmp, "missing"), "missing: no such file"},
		{big, "more than 20000 files or 64 MB"},
		{bad, `a_task/task.yaml:1:1: a task has no key "x"`},
		{bad, "b_task: the folder holds no task.yaml"},
	} {
		s, err := LoadSuite(tt.dir)
		got := problems(err)
		if s != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %v, %q; want %q", tt.dir, s, got, tt.want)
		}
		if n := strings.Count(strings.TrimSpace(got), "\n") + 1; n > 1 && tt.dir != bad {
			t.Errorf("%s: one fault gave %d problems: %q", tt.dir, n, got)
		}
		if b, err := Pack(tt.dir); b != nil || err == nil {
			t.Errorf("%s was packed", tt.dir)
		}
	}
	for _, dir := range []string{folder("no_task"), filepath.Join(tmp, "missing"), folder("a b"), big + "/task"} {
		if task, err := LoadTask(dir); task != nil || err == nil {
			t.Errorf("%s was loaded: %v, %v", dir, task, err)
		}
	}
}

func TestSocketInFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s", "t")
	write(t, dir, tare.Tree{{Path: "task.yaml", Mode: 0o644}})
	listener, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := LoadTask(dir); !strings.Contains(problems(err), "sock is neither a file, a folder nor a symbolic link") {
		t.Errorf("got %v", err)
	}
}

// TestNamesOfFolders loads a task that stands alone, below a folder that could be no suite.
func TestNamesOfFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My Documents", "task")
	write(t, dir, queue(t))
	if task, err := LoadTask(dir); err != nil || task.ID != "local/task" {
		t.Errorf("got %+v, %v", task, err)
	}
	t.Chdir(dir)
	if task, err := LoadTask("."); err != nil || task.ID != "local/task" {
		t.Errorf("from within: %+v, %v", task, err)
	}
}

func TestBudget(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, tare.Tree{{Path: "a", Mode: 0o644, Data: []byte("12345")}, {Path: "b/c", Mode: 0o644, Data: []byte("12345")}, {Path: "l", Mode: linkMode, Data: []byte("a")}})
	for _, tt := range []struct {
		files int
		bytes int64
		ok    bool
	}{{3, 11, true}, {2, 11, false}, {3, 10, false}} {
		tree, err := readTree(dir, &budget{tt.files, tt.bytes})
		if ok := err == nil && len(tree) == 3; ok != tt.ok || !ok && !errors.Is(err, errTooLarge) {
			t.Errorf("%+v: %v, %v", tt, tree, err)
		}
	}
	if b := newBudget(); b.files != 20000 || b.bytes != 64<<20 {
		t.Errorf("a suite's bounds are %+v", b)
	}
}

func TestForeignWords(t *testing.T) {
	dir := suiteFolder(t)
	tree := queue(t)
	write(t, filepath.Join(dir, "lost_items"), set(t, tree, tare.File{Path: "seed/NOTES", Mode: 0o644, Data: []byte("as in empty_queue and lost_items\n")}))
	_, err := LoadSuite(dir)
	if got := problems(err); !strings.HasSuffix(got, "lost_items/seed/NOTES: the agent would read the name of another task here: empty_queue") {
		t.Errorf("got %q", got)
	}
	ticket, _ := tree.Lookup("ticket.md")
	ticket.Data = append(bytes.Clone(ticket.Data), "\nSee empty_queue.\n"...)
	if err := os.RemoveAll(filepath.Join(dir, "lost_items")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "lost_items"), set(t, tree, ticket))
	_, err = LoadSuite(dir)
	if got := problems(err); !strings.HasSuffix(got, "lost_items/ticket.md: the agent would read the name of another task here: empty_queue") {
		t.Errorf("got %q", got)
	}
}

func TestResolve(t *testing.T) {
	builtin := Index{
		{Name: "tickets", Tasks: []Summary{{ID: "tickets/a"}, {ID: "tickets/b"}}},
		{Name: "vulns", Tasks: []Summary{{ID: "vulns/b"}, {ID: "vulns/c"}}},
	}
	load := func(found []Summary) (tasks []*tare.Task, err error) {
		for _, s := range found {
			tasks = append(tasks, &tare.Task{ID: s.ID})
		}
		return tasks, nil
	}
	dir := suiteFolder(t)
	for arg, want := range map[string]string{
		"tickets": "tickets/a tickets/b", "tickets/b": "tickets/b", "c": "vulns/c", "a": "tickets/a",
		dir: "queues/empty_queue", dir + "/empty_queue": "queues/empty_queue", dir + "/empty_queue/": "queues/empty_queue",
	} {
		tasks, err := Resolve(arg, builtin, load)
		var ids []string
		for _, task := range tasks {
			ids = append(ids, task.ID)
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", arg, got, err, want)
		}
	}
	for arg, want := range map[string]string{
		"b": `there is no suite, task or folder "b": built in are tickets, tickets/a, tickets/b, vulns,`, // two suites have it
		"":  `there is no suite, task or folder ""`, "tickets/c": `no suite, task or folder "tickets/c"`,
		dir + "/empty_queue/task.yaml": "is a file", dir + "/empty_queue/seed": "neither the folder nor one in it holds a task.yaml",
	} {
		tasks, err := Resolve(arg, builtin, load)
		if len(tasks) > 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %q", arg, tasks, err, want)
		}
	}
	if _, err := Resolve("x", nil, load); err == nil || !strings.Contains(err.Error(), "there are no built-in suites") {
		t.Errorf("without suites: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	tree := queue(t)
	y, _ := tree.Lookup("task.yaml")
	y.Data = []byte(strings.Replace(string(y.Data), "want: [null]", `want: {$anyof: [["a very particular answer", [[12345678901234567890]], "The worker pops when", short], {$dict: [[{$bytes: "c2VjcmV0IGJ5dGVzIQ=="}, 1]]}]}`, 1))
	task, err := load("s/t", set(t, tree, y))
	if err != nil {
		t.Fatal(err)
	}
	secrets := Secrets(task)
	finds := func(text string) bool {
		for _, s := range secrets {
			if bytes.Contains([]byte(text), s.Data) {
				return true
			}
		}
		return false
	}
	for _, f := range tree {
		top, _, _ := strings.Cut(f.Path, "/")
		given := top == "seed" || f.Path == "ticket.md"
		// too short to be looked for, or read as cases and looked for by their values
		exempt := top == "task.yaml" || top == "cases.jsonl" || f.Mode != 0o644
		if !exempt && finds(string(f.Data)) == given {
			t.Errorf("%s: given to the agent is %v, found is %v", f.Path, given, !given)
		}
	}
	for text, want := range map[string]bool{
		"x = 'a very particular answer'":  true,
		"the number 12345678901234567890": true,
		"secret bytes!":                   true,
		"The worker pops when":            false, // in the ticket
		"short":                           false,
		"# tripwire-00112233445566778899, and nothing else":          true,
		"part:     return self.items.pop(0) if self.items else None": true,
		"    self.items = []": false,
		"return None":         false,
	} {
		if finds(text) != want {
			t.Errorf("%q: found is %v", text, !want)
		}
	}
	seen := map[string]bool{}
	for _, s := range secrets {
		if seen[string(s.Data)] || s.Name == "" || len(s.Data) < minExpected {
			t.Errorf("twice, nameless or short: %q %q", s.Name, s.Data)
		}
		seen[string(s.Data)] = true
	}
}
