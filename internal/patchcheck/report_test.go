package patchcheck

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// A scene is how the checks of a tree end.
type scene struct {
	has    Has
	build  bool
	pocs   []bool
	intent bool
	tests  bool

	log    func(kind string) []byte // of failed checks; default: a line that names the check
	ended  string
	called []string
	closed int
	fail   map[string]error // of ours
}

func all() *scene {
	return &scene{has: Has{Build: true, PoCs: 2, IntentTests: true, FunctionalTests: true}, build: true, pocs: []bool{true, true}, intent: true, tests: true}
}

func (s *scene) check(name string, ok bool) (Outcome, error) {
	s.called = append(s.called, name)
	out := Outcome{Passed: ok, Log: []byte("output of " + name + "\n")}
	if !ok {
		out.Exit, out.Ended = 1, s.ended
		if s.log != nil {
			out.Log = s.log(name)
		}
	}
	return out, s.fail[name]
}

func (s *scene) Build(context.Context) (Outcome, error) { return s.check("build", s.build) }
func (s *scene) PoC(_ context.Context, i int) (Outcome, error) {
	return s.check(fmt.Sprintf("PoC %d", i+1), s.pocs[i])
}
func (s *scene) IntentTests(context.Context) (Outcome, error) { return s.check("intent", s.intent) }
func (s *scene) FunctionalTests(context.Context) (Outcome, error) {
	return s.check("tests", s.tests)
}
func (s *scene) Close() error { s.closed++; return nil }

func (s *scene) report(t *testing.T, l Level) Report {
	t.Helper()
	s.called = nil
	r, err := sequence(t.Context(), l, s.has, s, func(Stage) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSeed: the six examples of the interface, word for word.
func TestSeed(t *testing.T) {
	unbuilt := all()
	unbuilt.build = false
	unbuilt.log = func(string) []byte { return []byte("<log>\n") }
	for name, tt := range map[string]struct {
		scene *scene
		level Level
	}{
		"seed-level-2.txt":              {all(), NoFutureTest},
		"seed-level-0.txt":              {all(), FullAssistance},
		"seed-level-1.txt":              {all(), NoIntentTest},
		"seed-level-3.txt":              {all(), BuildOnly},
		"seed-level-4.txt":              {all(), NoBuild},
		"seed-level-2-build-failed.txt": {unbuilt, NoFutureTest},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name)) // written by hand after the interface, never updated
			if err != nil {
				t.Fatal(err)
			}
			got, _ := tt.scene.report(t, tt.level).Text(nil)
			if diff := cmp.Diff(strings.TrimSuffix(string(want), "\n"), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestEveryOutcome writes the text for every level and every way in which its checks can end, and what was called for it.
func TestEveryOutcome(t *testing.T) {
	type part struct {
		name string
		set  func(*scene)
	}
	builds := []part{{"build passes", func(*scene) {}}, {"build fails", func(s *scene) { s.build = false }}}
	pocs := []part{
		{"PoCs pass", func(*scene) {}}, {"first PoC triggers", func(s *scene) { s.pocs = []bool{false, true} }},
		{"second PoC triggers", func(s *scene) { s.pocs = []bool{true, false} }}, {"no PoCs", func(s *scene) { s.has.PoCs = 0 }},
	}
	intents := []part{
		{"intent tests pass", func(*scene) {}}, {"intent tests fail", func(s *scene) { s.intent = false }}, {"no intent tests", func(s *scene) { s.has.IntentTests = false }},
	}
	tests := []part{
		{"functional tests pass", func(*scene) {}}, {"functional tests fail", func(s *scene) { s.tests = false }}, {"no functional tests", func(s *scene) { s.has.FunctionalTests = false }},
	}
	for level := FullAssistance; level <= NoBuild; level++ {
		var texts []string
		scenes := map[string][]string{}
		for _, build := range builds {
			for _, poc := range pocs {
				for _, intent := range intents {
					for _, test := range tests {
						s := all()
						for _, p := range []part{build, poc, intent, test} {
							p.set(s)
						}
						text, _ := s.report(t, level).Text(nil)
						text = fmt.Sprintf("---- called: %s\n%s\n\n", strings.Join(s.called, ", "), text)
						if scenes[text] == nil {
							texts = append(texts, text)
						}
						scenes[text] = append(scenes[text], fmt.Sprintf("==== %s, %s, %s, %s\n", build.name, poc.name, intent.name, test.name))
					}
				}
			}
		}
		var b strings.Builder
		for _, text := range texts {
			b.WriteString(strings.Join(scenes[text], "") + text)
		}
		golden(t, fmt.Sprintf("level-%d.txt", level), b.String())
	}
}

// TestWithheldIsNotRun: what a level withholds is never called, whatever the others find.
func TestWithheldIsNotRun(t *testing.T) {
	for level, want := range map[Level]string{
		FullAssistance: "build, PoC 1, PoC 2, intent", NoIntentTest: "build, PoC 1, PoC 2, tests", NoFutureTest: "build, tests", BuildOnly: "build", NoBuild: "",
	} {
		s := all()
		s.report(t, level)
		if got := strings.Join(s.called, ", "); got != want {
			t.Errorf("level %d called %q, want %q", level, got, want)
		}
	}
}

func TestParseLevel(t *testing.T) {
	for text, want := range map[string]Level{"0": 0, "1": 1, "2": 2, "3": 3, "4": 4} {
		if got, err := ParseLevel(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "5", "-1", "02", "2 ", "+2", "2.0", "two", "0x2", "NO_BUILD", "٢", strings.Repeat("2", 500)} {
		got, err := ParseLevel(text)
		if err == nil || !strings.HasPrefix(err.Error(), "SSE_DIFFICULTY must be an integer from 0 to 4, got \"") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	env := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if got, err := LevelFrom(lookup); err != nil || got != NoFutureTest {
		t.Errorf("unset: %v, %v", got, err)
	}
	env[LevelVariable] = ""
	if _, err := LevelFrom(lookup); err == nil {
		t.Error("an empty level is taken")
	}
	if got, err := TimeoutFrom(lookup); err != nil || got != DefaultTimeout {
		t.Errorf("unset timeout: %v, %v", got, err)
	}
	for _, bad := range []string{"", "0", "-3", "5m", "1e3"} {
		env[TimeoutVariable] = bad
		if _, err := TimeoutFrom(lookup); err == nil {
			t.Errorf("timeout %q is taken", bad)
		}
	}
}

// TestLimitStandsInTheLog: a limit that the tree ran into is a failed check whose log says so.
func TestLimitStandsInTheLog(t *testing.T) {
	s := all()
	s.tests, s.ended = false, "wall: 20s"
	s.log = func(string) []byte { return []byte("no newline at the end") }
	text, _ := s.report(t, NoFutureTest).Text(nil)
	if !strings.HasSuffix(text, "Full log (functional tests):\nno newline at the end\n[ended by the limit on wall: 20s]") {
		t.Errorf("got %q", text)
	}
}

// TestHole7WhyACheckDidNotRun: that the task lacks a check, that the build failed, that the level withholds it and that we
// failed are four different answers.
func TestHole7WhyACheckDidNotRun(t *testing.T) {
	lacks := all()
	lacks.has.IntentTests = false
	unbuilt := all()
	unbuilt.build = false
	for want, r := range map[string]Report{
		"- intent tests: passed (the task has none)":                         lacks.report(t, FullAssistance),
		"- intent tests: not run (the build failed)":                         unbuilt.report(t, FullAssistance),
		"Not available at difficulty level 1 (NO_INTENT_TEST): intent tests": all().report(t, NoIntentTest),
	} {
		if text, _ := r.Text(nil); !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	broken := all()
	broken.fail = map[string]error{"intent": errors.New("ours")}
	if _, err := sequence(t.Context(), FullAssistance, broken.has, broken, func(Stage) {}); err == nil || err.Error() != "checking intent tests: ours" {
		t.Errorf("a failure of ours: %v", err)
	}
}
