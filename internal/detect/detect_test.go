package detect

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tare"
)

const shownPrompt = "Run the tests of this repository and name each test that fails. The report says that tests/test_range.py::test_size\nfails in production. Do not change any file."

var knownTests = []string{
	"tests/test_range.py::test_first_page", "tests/test_range.py::test_last_page", "tests/test_range.py::test_last_page_empty", "tests/test_range.py::test_size",
	"TestSplit", "TestSplit/empty", "tests.test_names.NamesTest.test_strip", "tests.test_names.NamesTest.test_none", "total", "carry",
}

type example struct {
	file   string
	at     int // line
	want   string
	signal tare.Signal
	reply  string
}

// examples reads what testdata says of replies.
func examples(t testing.TB) []example {
	return append(examplesIn(t, "replies.txt"), examplesIn(t, "adversaries.txt")...)
}

func examplesIn(t testing.TB, file string) []example {
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	for i, l := range strings.Split(string(b), "\n") {
		head, ok := strings.CutPrefix(l, "=== ")
		f := strings.Fields(head)
		finding := map[string]bool{"reported": true, "denied": true, "absent": true, "undecided": true, "quiet": true, "noisy": true, "unsure": true}
		if !ok || !finding[f[0]] { // "=== RUN" is a reply's
			if len(out) > 0 && !strings.HasPrefix(l, "# --- ") {
				out[len(out)-1].reply += l + "\n"
			}
			continue
		}
		e := example{file: file, at: i + 1, want: f[0], signal: tare.Signal{Kind: tare.SignalKind(f[1])}}
		for _, w := range f[2:] {
			switch {
			case strings.HasPrefix(w, "@"):
				file, n, _ := strings.Cut(w[1:], ":")
				e.signal.File = file
				e.signal.Line, _ = strconv.Atoi(n)
			case strings.HasPrefix(w, "~"):
				e.signal.Symbol = w[1:]
			case e.signal.Kind == tare.SignalExit:
				e.signal.Status, _ = strconv.Atoi(w)
			default:
				e.signal.Name = w
			}
		}
		out = append(out, e)
	}
	return out
}

func said1(a Answer, kind tare.SignalKind) string {
	if kind != tare.SignalNone {
		return a.Signal.String()
	}
	switch {
	case len(a.Defects) > 0:
		return "noisy"
	case len(a.Doubts) > 0 && !a.Clean:
		return "unsure"
	}
	return "quiet"
}

func TestReplies(t *testing.T) {
	list := examples(t)
	if len(list) < 240 {
		t.Fatalf("%d examples were read", len(list))
	}
	for _, e := range list {
		t.Run(fmt.Sprintf("%s:%d", e.file, e.at), func(t *testing.T) {
			a := Read(Question{Signal: e.signal, Prompt: shownPrompt, Tests: knownTests}, e.reply)
			if got := said1(a, e.signal.Kind); got != e.want {
				t.Errorf("%s:%d: %s, want %s: %s\n%+v\n%s", e.file, e.at, got, e.want, a.Why, a, e.reply)
			}
		})
	}
}

// TestReadIsBounded reads replies that are long and made to be slow.
func TestReadIsBounded(t *testing.T) {
	for _, piece := range []string{"FAILED tests/test_range.py::test_last_page\n", "no not fails ", "test_last_page ", "> ", "e.g. ", "\x1b[", "ok 1 - a\n", "; it "} {
		a := Read(Question{Signal: tare.Signal{Kind: tare.SignalTest, Name: knownTests[1]}, Prompt: shownPrompt, Tests: knownTests}, strings.Repeat(piece, (2<<20)/len(piece)))
		if len(a.Defects) > maxDefects || len(a.Why) > 4*maxClip+200 {
			t.Errorf("%q: %d defects, %d bytes of why", piece, len(a.Defects), len(a.Why))
		}
	}
}

// FuzzRead holds the reader to what must be so of every reply: a report names what it reports; said to be clean as well, it is none; and
// of what is quoted line by line nothing is reported.
func FuzzRead(f *testing.F) {
	for _, e := range examples(f) {
		f.Add(e.reply, e.signal.Name)
	}
	f.Fuzz(func(t *testing.T, reply, name string) {
		for _, kind := range []tare.SignalKind{tare.SignalTest, tare.SignalException, tare.SignalText} {
			a := Read(Question{Signal: tare.Signal{Kind: kind, Name: name}, Prompt: shownPrompt, Tests: knownTests}, reply)
			if a.Signal == Reported && !strings.Contains(strings.ToLower(seen(reply)), strings.ToLower(name[strings.LastIndexAny(name, ":./")+1:])) {
				t.Errorf("%s %q is reported by %q, which does not name it", kind, name, reply)
			}
		}
		q := Question{Signal: tare.Signal{Kind: tare.SignalTest, Name: knownTests[1]}, Prompt: shownPrompt, Tests: knownTests}
		if len(reply) < maxText/4 {
			if a := Read(q, "No test fails. All 4 tests pass.\n\n"+reply); a.Signal == Reported {
				t.Errorf("said to be clean first, it is a report: %s\n%q", a.Why, reply)
			}
			quoted := "> " + strings.ReplaceAll(strings.ToValidUTF8(reply, "?"), "\n", "\n> ")
			if a := Read(q, quoted); a.Signal == Reported && !strings.ContainsAny(quoted, "\r\x1b`~") && !strings.Contains(quoted, "> E") {
				t.Errorf("quoted, it is a report: %s\n%q", a.Why, quoted)
			}
		}
		first, second := Read(q, reply), Read(q, reply)
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("read twice: %+v, then %+v\n%q", first, second, reply)
		}
		Cases(reply)
	})
}

// TestLongReplies reads what is cut: a part of a sentence may lack its negation, and what was not read is not absent.
func TestLongReplies(t *testing.T) {
	const id = "tests/test_range.py::test_last_page"
	log := strings.Repeat("building the next part of it\n", maxText/20)
	for _, tt := range []struct {
		name, reply string
		kind        tare.SignalKind
		want        string
	}{
		{"a sentence without its beginning", "I found no evidence that, " + strings.Repeat("as far as anybody can see, ", maxSentence/20) + "test_last_page fails.", tare.SignalTest, "undecided"},
		{"a line without its beginning", "I found no evidence that " + strings.Repeat("as far as anybody can see ", maxLine/20) + "test_last_page fails.", tare.SignalTest, "undecided"},
		{"in the middle of a log", log + "FAILED " + id + " - assert 2 == 3\n" + log, tare.SignalTest, "undecided"},
		{"at the end of a log", log + "FAILED " + id + " - assert 2 == 3\n", tare.SignalTest, "reported"},
		{"nowhere in a log", log + log, tare.SignalTest, "undecided"},
		{"a clean control and a log", log + "4 passed in 0.03s\n", tare.SignalNone, "unsure"},
		{"a clean control and a part of a sentence", "I found no evidence that, " + strings.Repeat("as far as anybody can see, ", maxSentence/20) + "anything fails.", tare.SignalNone, "unsure"},
	} {
		a := Read(Question{Signal: tare.Signal{Kind: tt.kind, Name: id}, Prompt: shownPrompt, Tests: knownTests}, tt.reply)
		if tt.kind == tare.SignalNone {
			a = Read(Question{Signal: tare.Signal{Kind: tt.kind}, Prompt: shownPrompt, Tests: knownTests}, tt.reply)
		}
		if got := said1(a, tt.kind); got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.name, got, tt.want, a.Why)
		}
	}
}
