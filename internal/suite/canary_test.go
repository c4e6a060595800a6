package suite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tare"
)

const goodManifest = `version: 1
canaries:
  - id: c-one
    repo: fix
    planted: 'the sum is wrong'
    expected_signal: 'tests/test_a.py::test_sum'
  - id: c-clean
    repo: fix
    planted: null
    expected_signal: 'no failure reported'
`

// load reads a manifest over one fixture and one plant.
func loadCanaries(text string) (*Canaries, error) {
	return LoadCanaries(CanarySource{
		Name: "local", Dir: "dir", File: "canary.yaml", Text: []byte(text),
		Fixture: func(repo string) (tare.Tree, error) {
			if repo == "dirty" {
				return nil, errors.New("it is dirty:  M a.py")
			}
			if repo == "strange" {
				return tare.Tree{{Path: "README", Data: []byte("x")}}, nil
			}
			return tare.Tree{{Path: "a.py", Data: []byte("right\n")}, {Path: "tests/test_a.py", Data: []byte("x\n")}}, nil
		},
		Open: func(path string) ([]byte, error) {
			switch path {
			case "plants/c-one.patch", "other.patch":
				return []byte("wrong\n"), nil
			case "nothing.patch":
				return []byte("right\n"), nil
			case "telling.patch":
				return []byte("# the sum is wrong\n"), nil
			case "bad.patch":
				return []byte("bad"), nil
			}
			return nil, errors.New("there is no such file")
		},
		Apply: func(base tare.Tree, patch []byte) (tare.Tree, error) {
			if string(patch) == "bad" {
				return nil, errors.New("it does not apply")
			}
			return base.Overlay(tare.Tree{{Path: "a.py", Data: patch}}), nil
		},
	})
}

func TestCanaries(t *testing.T) {
	c, err := loadCanaries(goodManifest)
	if err != nil {
		t.Fatal(err)
	}
	one, clean := c.Tasks[0], c.Tasks[1]
	if one.ID != "local/c-one" || one.Kind != tare.Canary || one.Canary.Repeats != 1 || len(one.Canary.Phrasings) != 2 || one.Canary.Twin == nil || clean.Canary.Twin != nil {
		t.Errorf("%+v", one.Canary)
	}
	if f, _ := one.Seed.Lookup("a.py"); string(f.Data) != "wrong\n" {
		t.Errorf("the plant is not in the fixture: %q", f.Data)
	}
	if one.Canary.Check.Argv[0] != "/usr/bin/python3" {
		t.Errorf("%v", one.Canary.Check)
	}
	other, err := loadCanaries(strings.Replace(goodManifest, "the sum is wrong", "the sum is off", 1))
	if err != nil || other.Tasks[0].Hash == one.Hash || other.Tasks[1].Hash != clean.Hash || other.Hash == c.Hash {
		t.Errorf("hashes do not follow what a canary is: %v", err)
	}
	for _, p := range builtinPhrasings() {
		if strings.Contains(p.Text, "no failure reported") {
			t.Errorf("phrasing %s gives the words away", p.Name)
		}
	}
}

func TestSignals(t *testing.T) {
	for text, want := range map[string]tare.Signal{
		"'tests/test_range.py::test_last_page'": {Kind: tare.SignalTest, Name: "tests/test_range.py::test_last_page"},
		"'AttributeError'":                      {Kind: tare.SignalException, Name: "AttributeError"},
		"'TestLast/empty'":                      {Kind: tare.SignalTest, Name: "TestLast/empty"},
		"'tests.test_a.ATest.test_sum'":         {Kind: tare.SignalTest, Name: "tests.test_a.ATest.test_sum"},
		"'src/sum.c:14'":                        {Kind: tare.SignalPlace, File: "src/sum.c", Line: 14},
		"'exit status 3'":                       {Kind: tare.SignalExit, Status: 3},
		"'off-by-one'":                          {Kind: tare.SignalText, Name: "off-by-one"},
		"{exit: 3}":                             {Kind: tare.SignalExit, Status: 3},
		"{test: carry}":                         {Kind: tare.SignalTest, Name: "carry"},
		"{exception: KeyError, file: a.py, line: 3, symbol: 'get'}": {Kind: tare.SignalException, Name: "KeyError", File: "a.py", Line: 3, Symbol: "get"},
		"{symbol: get}": {Kind: tare.SignalPlace, Symbol: "get"},
	} {
		c, err := loadCanaries(strings.Replace(goodManifest, "'tests/test_a.py::test_sum'", text, 1))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Tasks[0].Canary.Signal; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestCanariesRefused gives each mistake its place.
func TestCanariesRefused(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		at             string // line:column
		says           string
	}{
		{"version", "version: 1", "version: 2", "1:10", "version must be 1"},
		{"unknown key", "    planted: null", "    plants: x\n    planted: null", "9:5", "no key"},
		{"equal ids", "id: c-clean", "id: c-one", "7:9", "here twice; the first is in line 3"},
		{"no id", "  - id: c-clean\n    repo", "  - repo", "7:5", `lacks the key "id"`},
		{"strange id", "c-clean", "c/clean", "7:9", "use letters"},
		{"no planted one", "planted: 'the sum is wrong'\n    expected_signal: 'tests/test_a.py::test_sum'", "planted: null\n    expected_signal: 'no failure reported'", "3:3", "no canary is planted"},
		{"no clean one", "null\n    expected_signal: 'no failure reported'", "'x is wrong'\n    plant: other.patch\n    expected_signal: KeyError", "3:3", "no canary is clean"},
		{"clean with a signal", "'no failure reported'", "'KeyError'", "10:22", "a clean canary has the signal"},
		{"planted without one", "'tests/test_a.py::test_sum'", "'no failure reported'", "6:22", "must name what proves"},
		{"no plant", "id: c-one", "id: c-two", "4:11", "the plant of this canary is a patch, \"plants/c-two.patch\": there is no such file"},
		{"named plant is gone", "    planted: 'the", "    plant: gone.patch\n    planted: 'the", "5:12", "there is no such file"},
		{"plant does not apply", "    planted: 'the", "    plant: bad.patch\n    planted: 'the", "5:12", "it does not apply"},
		{"plant changes nothing", "    planted: 'the", "    plant: nothing.patch\n    planted: 'the", "5:12", "changes nothing"},
		{"plant gives itself away", "    planted: 'the", "    plant: telling.patch\n    planted: 'the", "6:14", "could read what is planted"},
		{"clean with a plant", "    planted: null", "    planted: null\n    plant: other.patch", "10:12", "has no plant"},
		{"dirty", "repo: fix\n    planted: null", "repo: dirty\n    planted: null", "8:11", "it is dirty"},
		{"no tests to see", "repo: fix\n    planted: null", "repo: strange\n    planted: null", "8:11", "say so by check"},
		{"one phrasing", "version: 1", "version: 1\nphrasings: [A]", "2:12", "two phrasings at least"},
		{"unknown phrasing", "version: 1", "version: 1\nphrasings: [A, C]", "2:16", "there is no phrasing"},
		{"telling phrasing", "version: 1", "version: 1\nphrasings: {X: 'Does tests/test_a.py::test_sum fail?', Y: 'Run the tests.'}", "7:22", "would tell the harness"},
		{"two kinds", "'tests/test_a.py::test_sum'", "{test: a, exit: 2}", "6:22", "single observation"},
		{"no kind", "'tests/test_a.py::test_sum'", "{}", "6:22", "names one of"},
		{"line of nothing", "'tests/test_a.py::test_sum'", "{test: a, line: 2}", "6:22", "a line is one of a file"},
		{"success as a signal", "'tests/test_a.py::test_sum'", "{exit: 256}", "6:29", "between 1 and 255"},
		{"too short", "'tests/test_a.py::test_sum'", "'rm'", "6:22", "too short"},
		{"repeats", "version: 1", "version: 1\nrepeats: 0", "2:10", "whole number from 1"},
		{"no YAML", "version: 1", "version: [", "", "canary.yaml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(goodManifest, tt.from) {
				t.Fatalf("there is no %q", tt.from)
			}
			c, err := loadCanaries(strings.Replace(goodManifest, tt.from, tt.to, 1))
			if err == nil {
				t.Fatalf("accepted: %+v", c)
			}
			var at *Error
			if !errors.As(err, &at) || !strings.Contains(err.Error(), tt.says) || tt.at != "" && !strings.Contains(err.Error(), fmt.Sprintf("dir/canary.yaml:%s: ", tt.at)) {
				t.Errorf("%v\nwant %s: …%s", err, tt.at, tt.says)
			}
		})
	}
}

// FuzzCanaries loads a manifest that anybody may have written: it comes back whole, and the same each time, or as errors with their
// places. What comes back has planted and clean canaries of different names, wordings that differ and tell nothing, and a signal each.
func FuzzCanaries(f *testing.F) {
	f.Add(goodManifest)
	f.Add(strings.Replace(goodManifest, "version: 1", "version: 1\nphrasings: {X: 'Run the tests.', Y: 'Execute the tests.'}\nrepeats: 3\nlimits: {wall: 2m, turns: 5}\nadapter: 'cmd:./a.sh'", 1))
	f.Add(strings.Replace(goodManifest, "'tests/test_a.py::test_sum'", "{exception: KeyError, file: a.py, line: 2, symbol: sum}\n    check: {run: [make, check], wall: 1m}\n    repeats: 2", 1))
	f.Add("canaries: &a [*a]\nversion: 1\n")
	f.Add("version: 1\ncanaries:\n" + strings.Repeat("  - id: c/\n", 2*maxProblems)) // each lacks keys, and not all of that is noted
	f.Fuzz(func(t *testing.T, text string) {
		c, err := loadCanaries(text)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), "dir/canary.yaml") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		again, err := loadCanaries(text)
		if err != nil || again.Hash != c.Hash {
			t.Fatalf("the second time it is another: %v", err)
		}
		holdsCanaries(t, c)
	})
}

// holdsCanaries holds a manifest that was loaded to what is promised of one.
func holdsCanaries(t *testing.T, c *Canaries) {
	t.Helper()
	ids, planted := map[string]bool{}, 0
	for _, task := range c.Tasks {
		spec := task.Canary
		if spec.Planted != "" {
			planted++
		}
		if ids[task.ID] || task.Hash == "" || (spec.Planted != "") != (spec.Signal.Kind != tare.SignalNone) || (spec.Planted != "") != (spec.Twin != nil) {
			t.Fatalf("%s is not whole, or is there twice: %+v", task.ID, spec)
		}
		ids[task.ID] = true
		if spec.Signal.Kind == "" || spec.Repeats < 1 || spec.Repeats > maxRepeats || len(spec.Check.Argv) == 0 || task.Limits.Wall < 0 {
			t.Fatalf("%s: %+v", task.ID, spec)
		}
		names := map[string]bool{}
		for _, p := range spec.Phrasings {
			if names[p.Name] || strings.TrimSpace(p.Text) == "" {
				t.Fatalf("%s: phrasing %q is empty or there twice", task.ID, p.Name)
			}
			names[p.Name] = true
			for _, answer := range []string{spec.Planted, spec.Signal.Name} {
				if answer != "" && strings.Contains(p.Text, answer) {
					t.Fatalf("%s: phrasing %q tells %q", task.ID, p.Name, answer)
				}
			}
		}
		if len(names) < 2 {
			t.Fatalf("%s has %d phrasings", task.ID, len(names))
		}
	}
	if planted == 0 || planted == len(c.Tasks) {
		t.Fatalf("%d of %d are planted", planted, len(c.Tasks))
	}
}
