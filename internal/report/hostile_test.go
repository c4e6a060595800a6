package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tare"
)

// poison is text that does harm where it is not escaped.
var poison = []string{
	`</script><img src=x onerror=alert(1)>`,
	`"><script>alert(1)</script>`,
	`' onmouseover='alert(1)`,
	`javascript:alert(1)`,
	`</style><style>*{display:none}`,
	`]]><!--`,
	`{{.Run}}`,
	"\x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07",
	"over\u202ewrite\u2066 \u200bzero\ufeff",
	"bad \xff\xfe utf-8 \xc3",
	"nul\x00 bell\x07 back\x08 del\x7f c1\u0085\u009b2J",
	"two\nlines\r\nand\ttab\u2028sep",
	"\ufffe\uffff private \ue000",
	"wide 日本語 🙂 combining e\u0301\u0301\u0301",
}

// hostile is a run in which every string that anybody else wrote is s.
func hostile(s string) Result {
	d := tare.Digest(s)
	few := s[:min(len(s), 1<<16)] // arguments are parsed more than once
	args, err := json.Marshal(map[string]string{"path": few, few: few, "content": few + "\n" + few})
	if err != nil {
		panic(err)
	}
	gates := []tare.Gate{
		{Name: s, Outcome: tare.Fail, Need: tare.Required, Reason: s, Evidence: []string{s}},
		{Name: "blocked", Outcome: tare.Blocked, Need: tare.Need(s), Reason: s, BlockedBy: s},
		{Name: "odd", Outcome: tare.Outcome(s), Need: tare.Required, Reason: s},
	}
	zero := 0.0
	played := Row{
		Episode: tare.Episode{Task: s, Agent: s, Policy: s, Level: s, Fault: s, Trial: 2}, Title: s, HeldOut: true, Decoys: []string{s},
		Verdict: tare.Verdict{
			Task: s, TaskHash: d, Record: d, Outcome: tare.Fail, Cause: tare.Cause(s), Reward: &zero, RootGate: s, Gates: gates, Stop: tare.StopReason(s),
			Unfinished: true, Unresolved: []string{s}, Proof: tare.Proof{Status: tare.ProofStatus(s), Certificate: d}, Isolation: s, Supersedes: d, Grader: d,
		},
		Trajectory: tare.Trajectory{Stop: tare.StopReason(s), Detail: s, Final: s, Steps: []tare.Step{
			{Call: tare.Call{Tool: s, Args: args, Note: s}, Observation: tare.Observation{Preview: s, Fault: s}},
			{Call: tare.Call{Tool: "write_file", Args: args}, Observation: tare.Observation{OK: true, Preview: s}},
			{Call: tare.Call{Index: 2, Tool: s, Args: json.RawMessage(s)}},
		}},
	}
	odd := played
	odd.Episode.Trial, odd.Verdict.Outcome, odd.Verdict.Reward = 3, tare.Outcome(s), nil
	unplayed := Row{Episode: played.Episode, Title: s}
	unplayed.Episode.Trial = 4
	return Result{Run: s, Rows: []Row{played, odd, unplayed}, ProofLines: []string{s}}
}

// terminal writes r in every form that a terminal sees.
func terminal(w io.Writer, r Result, o Options) error {
	for _, f := range []func(io.Writer, []Row, Options) error{Matrix, Metrics} {
		if err := f(w, r.Rows, o); err != nil {
			return err
		}
	}
	for _, row := range r.Rows {
		for _, f := range []func(io.Writer, Row, Options) error{VerdictText, MetricsText} {
			if err := f(w, row, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// unfit finds the first rune that must not reach a reader.
func unfit(s string, allow string) string {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) && !strings.ContainsRune(allow, r) {
			return fmt.Sprintf("%q at byte %d, in %.60q", s[i:i+n], i, s[max(0, i-30):])
		}
		i += n
	}
	return ""
}

var ansi = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestHostileTerminal(t *testing.T) {
	for _, s := range poison {
		var b, c bytes.Buffer
		if err := terminal(&b, hostile(s), Options{}); err != nil {
			t.Fatal(err)
		}
		if bad := unfit(b.String(), "\n"); bad != "" {
			t.Errorf("%q: the terminal gets %s", s, bad)
		}
		if err := terminal(&c, hostile(s), Options{Color: true}); err != nil {
			t.Fatal(err)
		}
		if got := ansi.ReplaceAllString(c.String(), ""); got != b.String() {
			t.Errorf("%q: colour changes more than colour", s)
		}
	}
}

// markup are the tags and attributes of page, text aside, as a browser would find them.
func markup(page string) (tags map[string]int, attributes map[string]int) {
	tags, attributes = map[string]int{}, map[string]int{}
	for _, m := range regexp.MustCompile(`<(/?[a-zA-Z!][^\s>]*)([^>]*)>`).FindAllStringSubmatch(page, -1) {
		tags[strings.ToLower(m[1])]++
		for _, a := range regexp.MustCompile(`([a-zA-Z-]+)\s*=`).FindAllStringSubmatch(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(m[2], `""`), -1) {
			attributes[strings.ToLower(a[1])]++
		}
	}
	return tags, attributes
}

func TestHostileHTML(t *testing.T) {
	render := func(s string) string {
		var b bytes.Buffer
		if err := HTML(&b, hostile(s)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	tags, attributes := markup(render("plain"))
	for _, name := range []string{"script", "img", "iframe", "link", "object"} {
		if tags[name] != 0 {
			t.Errorf("the page has <%s>", name)
		}
	}
	for _, s := range poison {
		page := render(s)
		gotTags, gotAttributes := markup(page)
		for name, n := range gotTags {
			// Lines that are shown only for some strings may add or drop tags of the template's own.
			if tags[name] == 0 {
				t.Errorf("%q brings in %d <%s>", s, n, name)
			}
		}
		for name, n := range gotAttributes {
			if attributes[name] == 0 {
				t.Errorf("%q brings in %d attributes %s", s, n, name)
			}
		}
		if bad := unfit(page, "\n\t"); bad != "" {
			t.Errorf("%q: the page has %s", s, bad)
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Errorf("%q: the template refused a value", s)
		}
		if m := regexp.MustCompile(`(?i)(?:href|src|action)="[^#"][^"]*"|url\(|@import`).FindString(page); m != "" {
			t.Errorf("%q: the page refers to %s", s, m)
		}
	}
}

func TestHostileJUnit(t *testing.T) {
	for _, s := range poison {
		var b bytes.Buffer
		if err := JUnit(&b, hostile(s)); err != nil {
			t.Fatal(err)
		}
		if bad := unfit(b.String(), "\n"); bad != "" {
			t.Errorf("%q: the file has %s", s, bad)
		}
		var doc junitSuites
		if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if doc.Tests != 3 || doc.Failures != 1 || doc.Errors != 2 {
			t.Errorf("%q: %d tests, %d failures, %d errors; want 3, 1, 2", s, doc.Tests, doc.Failures, doc.Errors)
		}
	}
}

// TestLongTextIsBounded gives every form a megabyte in each place and expects pages that a person can still open.
func TestLongTextIsBounded(t *testing.T) {
	const most = 600_000 // of any of the forms; the text stands in some 70 places, and an escape is four to six bytes a byte
	for _, s := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\x00", 1<<20), strings.Repeat("ab ", 1<<19), strings.Repeat("é\u202e", 1<<18)} {
		r := hostile(s)
		for name, write := range map[string]func(io.Writer) error{
			"terminal": func(w io.Writer) error { return terminal(w, r, Options{}) },
			"junit":    func(w io.Writer) error { return JUnit(w, r) },
			"html":     func(w io.Writer) error { return HTML(w, r) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if b.Len() > most {
				t.Errorf("%.3q in %s: %d bytes", s, name, b.Len())
			}
			if !strings.Contains(b.String(), "more]") {
				t.Errorf("%.3q in %s: nothing says that text was cut", s, name)
			}
		}
	}
}

// TestWidth draws runs with any names and reasons and checks that no line is wider than was asked for.
func TestWidth(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom(poison), rapid.StringN(0, 60, -1), rapid.StringMatching(`[a-z_/]{1,90}`))
	outcome := rapid.SampledFrom([]tare.Outcome{tare.Pass, tare.Fail, tare.Unverified, ""})
	rapid.Check(t, func(t *rapid.T) {
		agents := rapid.SliceOfN(word, 1, 9).Draw(t, "agents")
		tasks := rapid.SliceOfN(word, 1, 4).Draw(t, "tasks")
		o := Options{Width: rapid.IntRange(60, 130).Draw(t, "width"), Color: rapid.Bool().Draw(t, "color")}
		var r Result
		for _, task := range tasks {
			for _, agent := range agents {
				for trial := range rapid.IntRange(1, 2).Draw(t, "trials") {
					row := hostile(word.Draw(t, "text")).Rows[0]
					row.Episode = tare.Episode{Task: task, Agent: agent, Trial: trial + 1}
					row.HeldOut = rapid.Bool().Draw(t, "held-out")
					row.Verdict.Outcome = outcome.Draw(t, "outcome")
					row.Verdict.RewardBounds = [2]float64{0, 1}
					r.Rows = append(r.Rows, row)
				}
			}
		}
		var b bytes.Buffer
		if err := terminal(&b, r, o); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(ansi.ReplaceAllString(b.String(), "")) {
			if n := columns(strings.TrimSuffix(l, "\n")); n > o.Width {
				t.Fatalf("%d columns, %d asked for: %q", n, o.Width, l)
			}
		}
	})
}

// TestNothingIsLost checks that the matrix shows every agent, by name, also when they need several tables.
func TestNothingIsLost(t *testing.T) {
	var rows []Row
	for i := range 23 {
		rows = append(rows, episode(inventory, fmt.Sprintf("agent-%02d", i), 1, 1, infraOK))
	}
	var b bytes.Buffer
	if err := Matrix(&b, rows, Options{}); err != nil {
		t.Fatal(err)
	}
	for i := range 23 {
		if name := fmt.Sprintf("agent-%02d", i); strings.Count(b.String(), name) != 1 {
			t.Errorf("%s is there %d times", name, strings.Count(b.String(), name))
		}
	}
	if got := strings.Count(b.String(), "✓ 1.00"); got != 23 {
		t.Errorf("%d cells, want 23", got)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range poison {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 8 + max(0, limit)%4096
		if bad := unfit(line(s, limit), ""); bad != "" {
			t.Errorf("line leaves %s", bad)
		}
		if bad := unfit(block(s, limit), "\n\t"); bad != "" {
			t.Errorf("block leaves %s", bad)
		}
		if got := line(s, limit); len(got) > 10*limit+40 {
			t.Errorf("%d bytes became %d", len(s), len(got))
		}
		for _, l := range wrap(line(s, limit), 20) {
			if columns(l) > 20 {
				t.Errorf("%q takes %d columns", l, columns(l))
			}
		}
	})
}
