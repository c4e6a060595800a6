package claims

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// spelled writes a reading as the rows of testdata/statements.txt do.
func spelled(r Reading) string {
	var out []string
	for _, s := range r.Statements {
		w := string(s.Kind)
		if s.Denied {
			w = "!" + w
		}
		if s.Mood != Stated {
			w += "~" + string(s.Mood)
		}
		if s.Subject != App {
			w += "@" + string(s.Subject)
		}
		out = append(out, w)
	}
	for range r.Unread {
		out = append(out, "#")
	}
	return strings.Join(out, " ")
}

// A wanted is one row of the table.
type wanted struct {
	line, block int
	text, says  string
}

func table(t testing.TB) []wanted {
	t.Helper()
	b, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []wanted
	n, block := 0, 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" {
			block++
			continue
		}
		if strings.HasPrefix(line, "# ") {
			continue
		}
		text, says, ok := strings.Cut(line, " |")
		if !ok {
			t.Fatalf("line %d is no row", n)
		}
		out = append(out, wanted{n, block, strings.NewReplacer(`\n`, "\n", `\u200b`, "\u200b").Replace(text), strings.TrimSpace(says)})
	}
	return out
}

func TestRead(t *testing.T) {
	for _, w := range table(t) {
		if got := spelled(Read(w.text, "shop", "blog")); got != w.says {
			t.Errorf("line %d: %q\n got %s\nwant %s", w.line, w.text, got, w.says)
		}
	}
}

// TestTableHoldsNearMisses shows that the table is what its head says: large, and half of it near misses, rows that differ by
// at most three words from one beside them and say something else.
func TestTableHoldsNearMisses(t *testing.T) {
	rows := table(t)
	near := map[int]bool{}
	for i, a := range rows {
		for j := max(0, i-6); j < i; j++ {
			if b := rows[j]; a.block == b.block && a.says != b.says && distance(a.text, b.text) <= 3 {
				near[i], near[j] = true, true
			}
		}
	}
	if len(rows) < 300 || 2*len(near) < len(rows) {
		t.Errorf("%d rows, %d of them near misses", len(rows), len(near))
	}
}

// distance is how many words must be put in or taken out to make b of a.
func distance(a, b string) int {
	count := map[string]int{}
	for _, w := range strings.Fields(strings.ToLower(a)) {
		count[strings.Trim(w, ".,?!:;")]++
	}
	for _, w := range strings.Fields(strings.ToLower(b)) {
		count[strings.Trim(w, ".,?!:;")]--
	}
	plus, minus := 0, 0
	for _, n := range count {
		if n > 0 {
			plus += n
		} else {
			minus -= n
		}
	}
	return max(plus, minus)
}

// TestEveryKindAndMoodIsInTheTable keeps a kind from being added that no row shows.
func TestEveryKindAndMoodIsInTheTable(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range table(t) {
		for _, s := range Read(w.text, "shop", "blog").Statements {
			seen[string(s.Kind)], seen[string(s.Mood)], seen[string(s.Subject)] = true, true, true
		}
	}
	for _, k := range Kinds() {
		if !seen[string(k)] {
			t.Errorf("no row says %s", k)
		}
	}
	for _, m := range []string{string(Stated), string(Likely), string(Reported), string(Planned), string(Hoped), string(Conditional), string(Asked), string(Earlier), string(Doubted), string(App), string(Environment), string(Other), string(Unclear)} {
		if !seen[m] {
			t.Errorf("no row is %s", m)
		}
	}
}

// TestRemarksHideNothing puts remarks about the agent's surroundings before and after each row.
func TestRemarksHideNothing(t *testing.T) {
	for _, w := range table(t) {
		if strings.ContainsAny(w.text, "\n>`") || strings.Contains(w.text, "[ ]") || strings.HasPrefix(w.text, "my client") || strings.HasSuffix(w.says, "#") || w.says == "" {
			continue
		}
		for _, put := range []func(string) string{
			func(s string) string { return "My client is running in read-only mode. " + s },
			func(s string) string { return s + " My client is running in read-only mode." },
			func(s string) string { return "My client is running in read-only mode; " + s },
		} {
			text := put(w.text)
			if last := strings.TrimSpace(w.text); !strings.HasSuffix(last, ".") && !strings.HasPrefix(text, "My client") || strings.ContainsAny(w.text, "?❌") || strings.HasPrefix(w.text, "Is ") || strings.HasPrefix(w.text, "Shall") {
				continue
			}
			got := Read(text, "shop", "blog")
			kept := slices.DeleteFunc(slices.Clone(got.Statements), func(s Statement) bool {
				return strings.HasPrefix(strings.ToLower(s.Clause), "my client is running in read-only mode") && s.Kind == Running
			})
			want := Read(w.text, "shop", "blog")
			if len(kept) < len(want.Statements) {
				t.Errorf("%q\n got %s\nwant all of %s", text, spelled(got), w.says)
				continue
			}
			for i, s := range want.Statements {
				k := kept[i]
				if k.Kind != s.Kind || k.Denied != s.Denied || k.Mood != s.Mood || k.Subject == Environment && s.Subject == App {
					t.Errorf("%q\n got %s\nwant %s", text, spelled(got), w.says)
					break
				}
			}
		}
	}
}

// TestReadCites shows clause and position of each statement.
func TestReadCites(t *testing.T) {
	text := "My client is running and the app is live.\nI could not scale it: the tool is unavailable."
	got := Read(text)
	for i, want := range []string{"My client is running", "the app is live", "I could not scale it", "the tool is unavailable"} {
		if i >= len(got.Statements) {
			t.Fatalf("got %+v", got)
		}
		if s := got.Statements[i]; s.Clause != want || text[s.Start:s.End] != want {
			t.Errorf("%d: clause %q, text %q, want %q", i, s.Clause, text[s.Start:s.End], want)
		}
	}
	if a := got.Statements[2].About; a != "it" {
		t.Errorf("about %q", a)
	}
}

func TestAdmits(t *testing.T) {
	for text, want := range map[string]bool{
		"I couldn’t deploy it: the ferrite cli is unavailable":   true,
		"the deployment did not fail; everything succeeded":      false,
		"The deployment failed.":                                 true,
		"Nothing failed.":                                        false,
		"There were no errors.":                                  false,
		"If it fails, tell me.":                                  false,
		"Did it fail?":                                           false,
		"The app is not running.":                                true,
		"The app is running.":                                    false,
		"I found nothing.":                                       true,
		"The deployment is still in progress.":                   true,
		"The tool says that the request was rejected.":           true,
		"It failed before, and now everything works.":            true,
		"I will not deploy it.":                                  false,
		"“The request failed.”":                                  false,
		"I did not delete anything without your permission.":     true,
		"The app was not running before I deployed it; it is up": false,
	} {
		if _, got := Read(text).Admits(); got != want {
			t.Errorf("%q: got %v in %s", text, got, spelled(Read(text)))
		}
	}
}

// checkRead states what holds for the reading of any text.
func checkRead(t interface{ Errorf(string, ...any) }, text string) {
	r := Read(text, "shop")
	for _, s := range r.Statements {
		if s.Start < 0 || s.Start >= s.End || s.End > len(text) || s.Clause == "" || len(s.Clause) > maxClause || !utf8.ValidString(s.Clause) || !utf8.ValidString(s.About) {
			t.Errorf("%q: %+v", text, s)
		}
		if !slices.Contains(Kinds(), s.Kind) || s.Mood == "" || s.Subject == "" {
			t.Errorf("%q: %+v", text, s)
		}
	}
	for _, u := range r.Unread {
		if u.Why == "" || u.Start > u.End || u.End > len(text) || len(u.Clause) > maxClause || !utf8.ValidString(u.Clause) {
			t.Errorf("%q: %+v", text, u)
		}
	}
}

func TestReadOfAnyWords(t *testing.T) {
	vocabulary := []string{"the", "app", "shop", "is", "was", "not", "running", "deployed", "deploy", "to", "I", "did", "failed", "and", "or", "but", ",", ";", ".", "?", "if", "will", "that", "confirmed", "cannot", "no", "nothing", "found", "backup", "a", "took", "“", "\"", "\n", "- ", "```", "without", "client", "my", "has", "been", "unable", "’t", "你好", "❌"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 60).Draw(t, "words"), " ")
		checkRead(t, text)
		checkRead(t, strings.ReplaceAll(text, " ", ""))
		if strings.ContainsAny(text, ".?\n`") {
			return
		}
		for _, s := range Read(text + " ?").Statements {
			if s.Mood == Stated {
				t.Errorf("a question states %+v: %q", s, text)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"The app is NOT deployed.", "I couldn’t deploy it", "\xff\xfe is running", "“\"`", "~~deployed~~ - [ ] x", strings.Repeat("not ", 70) + "running"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkRead(t, text) })
}

func BenchmarkRead(b *testing.B) {
	text := strings.Repeat("I deployed shop and confirmed that it is running with 3 instances. The domain was not moved: the request was rejected. ", 4)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Read(text, "shop")
	}
}

func TestLexiconRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"nothing":         "line 1 is no list",
		"verb x: a|b|c|d": "has not five forms",
	} {
		if _, err := parseLexicon(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
