package predicate

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var language = sync.OnceValues(NewLanguage)

func lang(t testing.TB) *Language {
	t.Helper()
	l, err := language()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testView(t testing.TB) *View {
	t.Helper()
	b, err := os.ReadFile("testdata/view.json")
	if err != nil {
		t.Fatal(err)
	}
	var lists map[string]List
	if err := json.Unmarshal(b, &lists); err != nil {
		t.Fatal(err)
	}
	v := NewView(lists, nil)
	v.Before(NewView(lists, nil))
	v.Bind("found", "app", json.RawMessage(`"app_shop"`))
	v.Bind("found", "whole", json.RawMessage(`{"id":"x"}`))
	return v
}

// rows are the lines of a file in testdata, cut at "=>".
func rows(t testing.TB, file string) [][3]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out [][3]string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		expr, want, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%s: no row: %q", file, line)
		}
		head, tail, _ := strings.Cut(want, ": ")
		out = append(out, [3]string{expr, head, tail})
	}
	return out
}

func TestAnswers(t *testing.T) {
	for _, row := range rows(t, "testdata/answers.txt") {
		p, err := lang(t).Compile(row[0])
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		got := p.Ask(testView(t))
		if got.Truth.String() != row[1] || !strings.Contains(got.Why, row[2]) || (got.Why == "") != (got.Truth != Undecided) {
			t.Errorf("%s\n got %s: %s\nwant %s: %s", row[0], got.Truth, got.Why, row[1], row[2])
		}
	}
}

func TestRefused(t *testing.T) {
	for _, row := range rows(t, "testdata/refused.txt") {
		_, err := lang(t).Compile(row[0])
		var at *Error
		if !errors.As(err, &at) {
			t.Errorf("%s: got %v", row[0], err)
			continue
		}
		if want := row[1] + ": "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), row[2]) {
			t.Errorf("%s\n got %v\nwant %s%s", row[0], err, want, row[2])
		}
	}
}

func TestRefusedOnALaterLine(t *testing.T) {
	_, err := lang(t).Compile("apps[0].n == 1 &&\n  apps[0].m.orValue(2) == 2")
	if err == nil || !strings.HasPrefix(err.Error(), "2:") {
		t.Errorf("got %v", err)
	}
	if _, err := lang(t).Compile("apps == " + strings.Repeat("1", maxSource)); err == nil {
		t.Error("a long expression is compiled")
	}
	if _, err := lang(t).Compile(strings.Repeat("(", 2000) + "apps" + strings.Repeat(")", 2000)); err == nil {
		t.Error("a deep expression is compiled")
	}
}

func TestNames(t *testing.T) {
	p, err := lang(t).Compile(`apps.exists(a, a.id == bound.x.y && before.apps.exists(b, b.id == a.id)) || size(pages) == 0`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Names(), " "); got != "apps before bound pages" {
		t.Errorf("got %s", got)
	}
}

// TestCostIsBounded asks an expression that would take very long.
func TestCostIsBounded(t *testing.T) {
	var items []json.RawMessage
	for range 3000 {
		items = append(items, json.RawMessage(`{"x":1}`))
	}
	p, err := lang(t).Compile(`xs.all(a, xs.all(b, xs.all(c, a.x == b.x && b.x == c.x)))`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Ask(NewView(map[string]List{"xs": {Complete: true, Items: items}}, nil)); got.Truth != Undecided || !strings.Contains(got.Why, "cost") {
		t.Errorf("got %+v", got)
	}
}

// TestHostileItems asks about items that are no JSON, or are deep.
func TestHostileItems(t *testing.T) {
	v := NewView(map[string]List{"xs": {Complete: true, Items: []json.RawMessage{nil, []byte("{"), []byte(strings.Repeat("[", 20000)), []byte(`{"a":1}`)}}}, nil)
	p, err := lang(t).Compile(`xs.exists(x, x.a == 2)`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Ask(v); got.Truth != Undecided {
		t.Errorf("got %+v", got)
	}
}

// TestLessIsNeverMoreCertain leaves fields, items and whole collections out of what was observed: an answer may become
// undecided, and it may not turn round. Items that are left out make their collection incomplete.
func TestLessIsNeverMoreCertain(t *testing.T) {
	var exprs []*Predicate
	for _, row := range rows(t, "testdata/answers.txt") {
		if strings.Contains(row[0], "absent") || strings.Contains(row[0], "before") {
			continue // to leave a field out is what absent asks about
		}
		if strings.Contains(row[0], "[0]") || strings.Contains(row[0], "[1]") {
			continue // items that are left out move the others
		}
		p, err := lang(t).Compile(row[0])
		if err != nil {
			t.Fatal(err)
		}
		exprs = append(exprs, p)
	}
	b, _ := os.ReadFile("testdata/view.json")
	rapid.Check(t, func(t *rapid.T) {
		var all, some map[string]List
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(b, &some)
		for name, l := range some {
			if rapid.IntRange(0, 5).Draw(t, "drop "+name) == 0 {
				delete(some, name)
				continue
			}
			var kept []json.RawMessage
			for _, it := range l.Items {
				if rapid.IntRange(0, 3).Draw(t, "drop item") == 0 {
					l.Complete = false
					continue
				}
				var m map[string]json.RawMessage
				_ = json.Unmarshal(it, &m)
				for k := range m {
					if rapid.IntRange(0, 3).Draw(t, "drop "+k) == 0 {
						delete(m, k)
					}
				}
				again, _ := json.Marshal(m)
				kept = append(kept, again)
			}
			l.Items = kept
			some[name] = l
		}
		for _, p := range exprs {
			full, less := p.Ask(NewView(all, nil)), p.Ask(NewView(some, nil))
			if less.Truth != Undecided && less.Truth != full.Truth {
				t.Errorf("%s: %s of all, %s of a part", p.Source(), full.Truth, less.Truth)
			}
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`apps.exists(a, a.x == 1)`, `absent(a.b)`, `!(`, `a.?b`, `[1,2][a.b]`, `a.map(x, y, x)`, `a.all(a, a.all(a, a))`, "a\n.b"} {
		f.Add(s)
	}
	view := testView(f)
	f.Fuzz(func(t *testing.T, source string) {
		p, err := lang(t).Compile(source)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Line < 1 || at.Column < 1 || at.Message == "" {
				t.Errorf("%q: %#v", source, err)
			}
			return
		}
		if a := p.Ask(view); (a.Why == "") != (a.Truth != Undecided) || len(a.Why) > maxWhy {
			t.Errorf("%q: %+v", source, a)
		}
		if a := p.Ask(NewView(nil, nil)); a.Truth == True && !strings.Contains(source, "||") && !strings.Contains(source, "?") {
			t.Errorf("%q holds of nothing", source)
		}
	})
}

func BenchmarkAsk(b *testing.B) {
	p, err := lang(b).Compile(`size(apps.filter(i, i.id == "app_shop" && i.n == 100)) == 1`)
	if err != nil {
		b.Fatal(err)
	}
	v := testView(b)
	for b.Loop() {
		p.Ask(v)
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := lang(b).Compile(`size(apps.filter(i, i.id == "app_shop" && i.n == 100)) == 1`); err != nil {
			b.Fatal(err)
		}
	}
}
