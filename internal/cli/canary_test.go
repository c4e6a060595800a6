package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare"
	"tare/internal/canary"
	"tare/internal/run"
	"tare/internal/soak"
	"tare/internal/suite"
	"tare/suites"
)

// A sickHarness is an adapter with a known defect, and the same one without it.
type sickHarness struct {
	Name, What string
	Sick, Well string
	Row        canary.Verdict // of the decision table, in which the sick one must land
	Only       []string
}

// sickHarnesses lays out the harnesses of the built-in suite and lists them.
func sickHarnesses(t *testing.T) (dir string, list []sickHarness) {
	t.Helper()
	folder, err := suite.UnpackFolder(suites.Canaries())
	if err != nil {
		t.Fatal(err)
	}
	f, ok := folder.Lookup("harnesses.json")
	if !ok {
		t.Fatal("there is no harnesses.json")
	}
	if err := json.Unmarshal(f.Data, &list); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range folder {
		rel, ok := strings.CutPrefix(f.Path, "harnesses/")
		if !ok {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, f.Data, f.Mode.Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, list
}

// TestSickHarnesses sends canaries through harnesses with known defects, on production's path: each sick one must land in its
// row of the decision table, and the same one made well in the first. Both wordings go to the harnesses whose row rests on there being
// several, which the first one does; to the other sick ones goes one of them, in turn by days, and make soak sends both.
func TestSickHarnesses(t *testing.T) {
	dir, list := sickHarnesses(t)
	if len(list) != 10 {
		t.Fatalf("%d harnesses", len(list))
	}
	a := &app{format: "json", quiet: true, backend: "bwrap", state: t.TempDir(), stdout: os.Stdout, stderr: os.Stderr}
	a.bridge = filepath.Join(t.TempDir(), "tare-bridge")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", a.bridge, "tare/cmd/tare-bridge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the helper: %v\n%s", err, out)
	}
	manifest, _, err := a.canaries(t.Context(), builtinCanaries)
	if err != nil {
		t.Fatal(err)
	}
	err = a.withRig(t.Context(), func(ctx context.Context, r *rig) error {
		sickTable(ctx, t, a, r, manifest, dir, list)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// severalWordings are sick harnesses of which one wording of a canary tells too little.
var severalWordings = []string{"worded", "leftover"}

// inOneWording is canaries in the wording whose turn it is.
func inOneWording(tasks []*tare.Task, day int) (out []*tare.Task) {
	for _, t := range tasks {
		one, c := *t, *t.Canary
		c.Phrasings = soak.Today(c.Phrasings, 1, day)
		one.Canary = &c
		out = append(out, &one)
	}
	return out
}

func sickTable(ctx context.Context, t *testing.T, a *app, r *rig, manifest *suite.Canaries, dir string, list []sickHarness) {
	var ids []string
	for _, h := range list {
		ids = append(ids, h.Only...)
	}
	tasks, err := only(manifest.Tasks, ids)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.showFixtures(ctx, tasks); err != nil {
		t.Fatal(err)
	}
	type side struct {
		harness sickHarness
		script  string
		row     canary.Verdict
	}
	var sides []side
	for _, h := range list {
		if h.Sick != "" {
			sides = append(sides, side{h, h.Sick, h.Row})
		}
		sides = append(sides, side{h, h.Well, canary.Passes})
	}
	day, all, err := soak.Day()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("TARE_TEST_DAY=%d: both wordings for all: %v", day, all)
	turns := make(chan side)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for s := range turns {
				picked, err := only(manifest.Tasks, s.harness.Only)
				if err != nil {
					t.Error(err)
					continue
				}
				if !all && s.row != canary.Passes && !slices.Contains(severalWordings, s.harness.Name) {
					picked = inOneWording(picked, day)
				}
				sum, rows, err := through(ctx, a, r, picked, "cmd:"+filepath.Join(dir, s.script))
				if err != nil {
					t.Errorf("%s: %v", s.script, err)
					continue
				}
				if !sum.Holds(s.row) || s.row != canary.Passes && sum.Holds(canary.Passes) {
					t.Errorf("%s, which %s, must land in row %q; it landed in %v:\n%s", s.script, s.harness.What, s.row, landed(sum), told(rows))
				}
			}
		})
	}
	for _, s := range sides {
		turns <- s
	}
	close(turns)
	wg.Wait()
}

// through plays a harness on canaries, as the command does; nothing is kept.
func through(ctx context.Context, a *app, r *rig, tasks []*tare.Task, agent string) (canary.Summary, []canary.Row, error) {
	plan, err := a.canaryPlan(r, tasks, canaryFlags{agent: agent})
	if err != nil {
		return canary.Summary{}, nil, err
	}
	one := run.Rig{Play: r.play, Attempts: 2, Grader: r.grader}
	results, err := one.Run(ctx, "", plan, nil)
	if err != nil {
		return canary.Summary{}, nil, err
	}
	rows := canary.Rows(results)
	s, err := canary.Summarize(rows)
	return s, rows, err
}

func landed(s canary.Summary) []canary.Verdict {
	var out []canary.Verdict
	for _, d := range s.Table {
		out = append(out, d.Row)
	}
	return out
}

func told(rows []canary.Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %s %s: %s %s: %s\n", r.Canary, r.Phrasing, r.Outcome, r.Gate, r.Reason)
	}
	return b.String()
}

// TestBuiltinCanaries holds the built-in suite to what is promised of it.
func TestBuiltinCanaries(t *testing.T) {
	a := &app{quiet: true, stderr: os.Stderr}
	m, _, err := a.canaries(t.Context(), builtinCanaries)
	if err != nil {
		t.Fatal(err)
	}
	planted, clean := 0, 0
	languages := map[string]int{}
	for _, task := range m.Tasks {
		if task.Canary.Planted != "" {
			planted++
		} else {
			clean++
		}
		_, goes := task.Seed.Lookup("go.mod")
		_, c := task.Seed.Lookup("run_tests.sh")
		languages[map[bool]string{goes: "go", c: "c"}[true]]++
		for _, p := range task.Canary.Phrasings {
			if strings.Contains(p.Text, task.Canary.Signal.Name) && task.Canary.Signal.Name != "" {
				t.Errorf("%s: phrasing %s names the signal", task.ID, p.Name)
			}
		}
		if len(suite.Secrets(task)) == 0 && task.Canary.Planted != "" {
			t.Errorf("%s has nothing to look for in a leak scan", task.ID)
		}
	}
	if planted < 24 || clean < 12 || languages["go"] < 9 || languages["c"] < 9 || languages[""] < 18 {
		t.Errorf("%d planted, %d clean, %v", planted, clean, languages)
	}
}

// TestSeedManifest loads the manifest of four canaries as it was first written, with fixtures and plants made for it.
func TestSeedManifest(t *testing.T) {
	a := &app{quiet: true, stderr: os.Stderr}
	m, dir, err := a.canaries(t.Context(), filepath.Join("testdata", "seed-canaries", "canary.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, task := range m.Tasks {
		ids = append(ids, shortID(task)+" "+string(task.Canary.Signal.Kind))
	}
	want := []string{"c-offby-one test", "c-null-guard exception", "c-clean-a none", "c-clean-b none"}
	if !slices.Equal(ids, want) || !strings.HasSuffix(dir, "seed-canaries") {
		t.Errorf("%v in %s", ids, dir)
	}
}

// TestDirtyFixture refuses a repository that holds something else than its last commit.
func TestDirtyFixture(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	sh := func(args ...string) {
		t.Helper()
		if out, err := git(t.Context(), repo, args...); err != nil {
			t.Fatal(out, err)
		}
	}
	a := &app{quiet: true, stderr: os.Stderr}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, "a.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if _, err := a.fixture(t.Context(), dir, "repo"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	write("x = 1\n")
	if tree, err := a.fixture(t.Context(), dir, "repo"); err != nil || len(tree) != 1 { // no repository: as it lies
		t.Errorf("%v, %v", tree, err)
	}
	sh("init", "-q")
	refused("no commit")
	sh("add", "-A")
	sh("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x")
	if tree, err := a.fixture(t.Context(), dir, "repo"); err != nil || len(tree) != 1 {
		t.Errorf("%v, %v", tree, err)
	}
	write("x = 2\n")
	refused("dirty: M a.py")
	if _, err := a.fixture(t.Context(), dir, "nowhere"); err == nil {
		t.Error("a fixture that is not there was taken")
	}
}
