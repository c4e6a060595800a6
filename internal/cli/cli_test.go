package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tare"
	"tare/internal/bucket/buckettest"
	"tare/internal/sandbox"
	"tare/internal/soak"
	"tare/internal/store"
	"tare/internal/store/storetest"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// bin holds the real binaries: a script runs what a user runs, with the helper beside it.
var bin string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	flag.Parse()
	if os.Getenv("TARE_TEST_SOAK_DIR") != "" { // a soak, which is a process of its own
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "tare-cli-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", dir, "tare/cmd/tare", "tare/cmd/tare-bridge", "tare/cmd/tare-bucket")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building tare: %v\n%s", err, out)
		return 1
	}
	bin = dir
	// Most tests wait for a tare that they started, and some for a time limit: as many at once as there are processors leaves these idle.
	// Who says -parallel has their way.
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "4"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return storetest.Main(m)
}

// heavy are parts of scripts that are too much for every run: on each day one has its turn, and on some none.
var heavy = []string{"lab", "", ""}

// tickets are the built-in tickets that are tasks for agents, by name; bugfix_inventory, which every run plays, is not among them.
func tickets(t *testing.T, root string) (names []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "suites", "tickets", "*", "task.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if name := filepath.Base(filepath.Dir(f)); name != "bugfix_inventory" {
			names = append(names, "tickets/"+name)
		}
	}
	if len(names) < 10 {
		t.Fatalf("tickets: %v", names)
	}
	return names
}

// newWorkdir makes a directory for workspaces while they are in use. It is in memory where there is room, as in the tests of other packages:
// a disk that passes over inodes which were removed a moment ago (see sandbox.TempDir) costs each of some hundred runs more than its work.
func newWorkdir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(sandbox.TempDir(), "tare-cli-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil { // the unprivileged user of the sandbox passes through it
		t.Fatal(err)
	}
	return dir
}

// linkGo shows below a directory for workspaces what Go's runner keeps for all runs, as far as it was made.
func linkGo(t *testing.T, workdir string) {
	t.Helper()
	ready, err := filepath.Glob(fmt.Sprintf("/var/tmp/tare-%d/go-*/ready", os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ready {
		dir := filepath.Dir(r)
		if err := os.Symlink(dir, filepath.Join(workdir, filepath.Base(dir))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	workdir := newWorkdir(t) // one that all scripts share, as programs of one user do
	linkGo(t, workdir)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	day, all, err := soak.Day()
	if err != nil {
		t.Fatal(err)
	}
	ticket := soak.Today(tickets(t, root), 1, day)[0]
	t.Logf("TARE_TEST_DAY=%d: it is the turn of %s; the experiment: %v", day, ticket, soak.Today(heavy, 1, day))
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Condition: func(cond string) (bool, error) {
			switch what, today := strings.CutPrefix(cond, "today:"); {
			case cond == "all":
				return all, nil
			case today && slices.Contains(heavy, what):
				return all || slices.Contains(soak.Today(heavy, 1, day), what), nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("TICKETS", filepath.Join(root, "suites", "tickets"))
			env.Setenv("GOTICKETS", filepath.Join(root, "suites", "tickets-go"))
			env.Setenv("BIN", bin)
			env.Setenv("TICKET", ticket)
			env.Setenv("SCENARIOS", filepath.Join(root, "suites", "scenarios"))
			env.Setenv("CANARIES", filepath.Join(root, "internal", "cli", "testdata", "seed-canaries"))
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("TASKS", filepath.Join(root, "internal", "cli", "testdata", "tasks"))
			env.Setenv("TARE_STATE", filepath.Join(env.WorkDir, "state"))
			env.Setenv("TARE_WORKDIR", workdir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":         exits,
			"run-id":        runID,
			"trajectories":  trajectories,
			"copy":          copyDir,
			"edit":          edit,
			"kept":          kept,
			"corrections":   corrections,
			"first-open":    firstOpen,
			"build-notes":   buildNotes,
			"until-kept":    untilKept,
			"mockmodel":     mockModel,
			"postgres":      postgres,
			"bucket":        startBucket,
			"alter-blob":    alterBlob,
			"until-workers": untilWorkers,
		},
	})
}

// exits runs tare and checks its exit code: exits CODE ARG…. Its output is there for stdout and stderr to look at.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG…")
	}
	err := ts.Exec("tare", args[1:]...)
	code := 0
	if err != nil {
		e, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("running tare: %v", err)
		}
		code = e.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("tare %v: exit code %d, want %s", args[1:], code, args[0])
	}
}

// mockModel starts a scripted model, whose base URL is MOCK for the rest of the script: mockmodel SCRIPT LOG.
func mockModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mockmodel SCRIPT LOG")
	}
	cmd := exec.Command(filepath.Join(bin, "tare"), "mockmodel", ts.MkAbs(args[0]), "--log", ts.MkAbs(args[1]))
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv("MOCK", strings.TrimSpace(url))
}

// postgres sets TARE_DB to an empty database of a server that all scripts share.
func postgres(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := storetest.Shared()
	ts.Check(err)
	address, err := server.New()
	ts.Check(err)
	ts.Setenv("TARE_DB", address)
}

// startBucket sets TARE_BLOBS to an empty bucket of a server of the script's own.
func startBucket(ts *testscript.TestScript, _ bool, _ []string) {
	server, stop, err := buckettest.New()
	ts.Check(err)
	ts.Defer(stop)
	for key, value := range buckettest.Credentials() {
		ts.Setenv(key, value)
	}
	ts.Setenv("TARE_BLOBS", server.Address)
}

// alterBlob changes one byte of the longest blob in a directory: alter-blob DIR.
func alterBlob(ts *testscript.TestScript, _ bool, args []string) {
	var longest string
	most := int64(-1)
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > most {
			longest, most = path, info.Size()
		}
		return err
	}))
	b, err := os.ReadFile(longest)
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.WriteFile(longest, b, 0o644))
}

// untilWorkers waits until so many workers are there: until-workers N.
func untilWorkers(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var ps struct{ Workers []any }
		if ts.Exec("tare", "ps", "--format", "json") == nil && json.Unmarshal([]byte(ts.ReadFile("stdout")), &ps) == nil && fmt.Sprint(len(ps.Workers)) == args[0] {
			return
		}
	}
	ts.Fatalf("there are not %s workers", args[0])
}

// runID sets RUN to the id of the run with the most episodes.
func runID(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("tare", "list", "runs", "--format", "json"))
	most := -1
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var r struct {
			Run    string
			Counts struct{ Planned int }
		}
		ts.Check(json.Unmarshal([]byte(line), &r))
		if r.Counts.Planned > most {
			most = r.Counts.Planned
			ts.Setenv("RUN", r.Run)
		}
	}
}

// inRuns are the files that match a pattern below what the state directory keeps of runs: entries as files, or trajectories and views.
func inRuns(ts *testscript.TestScript, pattern string) (found []string) {
	for _, room := range []string{"runs", "trajectories"} {
		some, err := filepath.Glob(filepath.Join(ts.Getenv("TARE_STATE"), room, pattern))
		ts.Check(err)
		found = append(found, some...)
	}
	return found
}

// firstOpen sets OPEN to the id of the first thing that waits for a person and can be answered.
func firstOpen(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("tare", "review", "--format", "json"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var w struct {
			ID      string
			Answers []string
		}
		ts.Check(json.Unmarshal([]byte(line), &w))
		if len(w.Answers) > 0 {
			ts.Setenv("OPEN", w.ID)
			return
		}
	}
	ts.Fatalf("nothing that waits can be answered")
}

// trajectories checks how many trajectories the store holds, over all runs: trajectories N.
func trajectories(ts *testscript.TestScript, _ bool, args []string) {
	found := inRuns(ts, "*/*/trajectory*.jsonl")
	if len(args) != 1 || fmt.Sprint(len(found)) != args[0] {
		ts.Fatalf("there are %d trajectories, want %v", len(found), args)
	}
}

// copyDir copies a directory of the host into the script's: copy FROM TO.
func copyDir(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: copy FROM TO")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(args[0])))
}

// edit replaces the first occurrence of a text in a file: edit FILE OLD NEW.
func edit(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o644))
}

// kept sets FILE to the first file of the store's runs that matches a pattern and holds a text: kept PATTERN TEXT.
func kept(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: kept PATTERN TEXT")
	}
	found := inRuns(ts, args[0])
	for _, name := range found {
		b, err := os.ReadFile(name)
		ts.Check(err)
		if strings.Contains(string(b), args[1]) {
			ts.Setenv("FILE", name)
			return
		}
	}
	ts.Fatalf("none of %d files %s holds %q", len(found), args[0], args[1])
}

// corrections checks that the store holds so many corrections, and that each names the hash of the verdict before it:
// corrections N.
func corrections(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("TARE_STATE"), "runs", "*", "*", "verdict-0002.json"))
	ts.Check(err)
	if len(args) != 1 || fmt.Sprint(len(found)) != args[0] {
		ts.Fatalf("there are %d corrections, want %v", len(found), args)
	}
	for _, name := range found {
		first, err := filepath.Glob(filepath.Join(filepath.Dir(name), "verdict-0001-*.json"))
		ts.Check(err)
		if len(first) != 1 {
			ts.Fatalf("first verdicts: %v", first)
		}
		if want := `"supersedes":"` + string(tare.HashBytes([]byte(ts.ReadFile(first[0])))) + `"`; !strings.Contains(ts.ReadFile(name), want) {
			ts.Fatalf("%s does not hold %s", name, want)
		}
	}
}

// buildNotes builds the two builds of the notes server into a directory: build-notes DIR.
func buildNotes(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: build-notes DIR")
	}
	for name, flags := range map[string]string{"notes-1": "", "notes-2": "-X main.exact=yes"} {
		build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", filepath.Join(ts.MkAbs(args[0]), name), "../../examples/two-builds/server")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		if err != nil {
			ts.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
}

// untilKept waits until the store holds a verdict: until-kept.
func untilKept(ts *testscript.TestScript, _ bool, _ []string) {
	tick, limit := time.NewTicker(5*time.Millisecond), time.NewTimer(2*time.Minute)
	defer tick.Stop()
	defer limit.Stop()
	for {
		if someVerdict(ts) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			ts.Fatalf("no verdict was kept within two minutes")
		}
	}
}

// someVerdict reports whether the database in the state directory holds a verdict.
func someVerdict(ts *testscript.TestScript) bool {
	path := filepath.Join(ts.Getenv("TARE_STATE"), "tare.db")
	if _, err := os.Stat(path); err != nil {
		return false
	}
	d, err := store.OpenDB(context.Background(), "sqlite:"+path, store.Options{})
	ts.Check(err)
	defer d.Close()
	runs, err := d.Runs()
	ts.Check(err)
	for _, run := range runs {
		all, err := d.Episodes(run)
		ts.Check(err)
		if len(all) > 0 {
			return true
		}
	}
	return false
}
