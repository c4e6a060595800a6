package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
	"tare/internal/sandbox"
)

// nonce is one as a run draws it. Whoever writes the bytes below does not know it.
const nonce = "6f1ed002ab5595859014ebf0951522d9"

// knows reports whether data spells the nonce, in whichever way JSON has.
func knows(data []byte) bool {
	for line := range bytes.Lines(data) {
		var fields map[string]any
		if json.Unmarshal(line, &fields) != nil {
			continue
		}
		for _, v := range fields { // the reader takes keys in any case
			if v == nonce {
				return true
			}
		}
	}
	return bytes.Contains(data, []byte(nonce))
}

// A channel is one sort of report: a genuine one, and how it is read.
type channel struct {
	name    string
	genuine []string                                         // lines of a whole report of a process that ended with status 1
	read    func(a answer) (passed []string, defect string)  // as the runner reads it
	proof   func(lines []map[string]any, id string) []string // what a passed test needs that the lines do not have
}

func says(format string, args ...any) string {
	return fmt.Sprintf(`{"nonce":%q,`, nonce) + fmt.Sprintf(format, args...) + "}"
}

func pytestChannel() channel {
	c := channel{name: "pytest", genuine: []string{says(`"event":"start"`)}}
	ids := []string{"a.py::test_x", "a.py::test_y", "a.py::test_s"}
	for i, id := range ids {
		c.genuine = append(c.genuine, says(`"event":"item","item":%d,"id":%q,"role":%q`, i, id, map[int]string{2: "passing"}[i]))
	}
	for i, id := range ids {
		for _, when := range []string{"setup", "call", "teardown"} {
			c.genuine = append(c.genuine, says(`"event":"result","item":%d,"id":%q,"when":%q,"outcome":%q`, i, id, when, map[bool]string{true: "failed", false: "passed"}[i == 1 && when == "call"]))
		}
	}
	c.genuine = append(c.genuine, says(`"event":"end","status":1,"items":3,"results":9`))
	c.read = func(a answer) (passed []string, defect string) {
		rep := a.read()
		items := rep.items()
		for _, it := range items {
			if t, ok := it.result(true); ok && t.Outcome == tare.TestPassed && it.role == "" {
				passed = append(passed, t.ID)
			}
		}
		rep.checkTests(a, items)
		return passed, rep.defect
	}
	c.proof = func(lines []map[string]any, id string) (lacks []string) {
		for _, when := range []string{"setup", "call", "teardown"} {
			if n := count(lines, map[string]any{"event": "result", "id": id, "when": when, "outcome": "passed"}); n != 1 {
				lacks = append(lacks, fmt.Sprintf("%d results of %s", n, when))
			}
		}
		return lacks
	}
	return c
}

func goChannel(t testing.TB) channel {
	c := channel{name: "gotest"}
	ids := []string{"TestPassing", "ticket/span.TestOther", "ticket/span.TestTouching"}
	for i, id := range ids {
		c.genuine = append(c.genuine, says(`"event":"item","item":%d,"id":%q,"role":%q`, i, id, map[int]string{0: "passing"}[i]))
	}
	for i, id := range ids {
		if i == 2 {
			c.genuine = append(c.genuine, says(`"event":"sub","item":2,"id":"TestTouching/case","when":"call","outcome":"failed"`))
		}
		c.genuine = append(c.genuine, says(`"event":"result","item":%d,"id":%q,"when":"call","outcome":%q`, i, id, map[bool]string{true: "failed", false: "passed"}[i == 2]))
	}
	c.genuine = append(c.genuine, says(`"event":"end","status":1,"items":3,"results":4`))
	pkg := goPackages(goTree(t), nil)[0]
	c.read = func(a answer) (passed []string, defect string) {
		rep := a.read()
		var out tare.Run
		rep.goTests(goRequest{pkg: pkg, first: true}, goFailure{}, &out)
		rep.checkGo(a)
		for _, r := range out.Tests {
			if r.Outcome == tare.TestPassed {
				passed = append(passed, r.ID)
			}
		}
		return passed, rep.defect
	}
	c.proof = func(lines []map[string]any, id string) []string {
		_, name, _ := strings.Cut(id, "::")
		n := 0
		for _, l := range lines {
			said, _ := l["id"].(string)
			if (l["event"] == "result" || l["event"] == "sub") && l["outcome"] == "passed" && (said == name || strings.HasSuffix(said, "."+name)) {
				n++
			}
		}
		if n != 1 {
			return []string{fmt.Sprintf("%d results", n)}
		}
		return nil
	}
	return c
}

// count counts the lines that have all of fields.
func count(lines []map[string]any, fields map[string]any) (n int) {
	for _, l := range lines {
		all := true
		for k, v := range fields {
			all = all && l[k] == v
		}
		if all {
			n++
		}
	}
	return n
}

func (c channel) answer(data []byte) answer {
	return answer{nonce: nonce, report: data, result: sandbox.Result{Exit: 1}}
}

// seeds are forgeries and damage that somebody thought of.
var seeds = []string{
	"", "\n", "{}\n", `{"event":"collect","id":"x"}` + "\n", `{"nonce":"N","event":"end"}` + "\n", "\x00\xff\n", `{"event":"result","item":1,"id":"a.py::test_y","when":"call","outcome":"passed"}` + "\n",
	`{"nonce":null,"event":"result","item":2,"id":"ticket/span.TestTouching","when":"call","outcome":"passed"}` + "\n", `{"nonce":"","event":"end","status":1,"items":3,"results":9}`,
	strings.Repeat("[", 20000) + "\n", `{"Nonce":"x","NONCE":"y"}` + "\n", `[1]` + "\n", `{"event":"item","item":1e400}` + "\n", `{"nonce":"\u0036","event":"sub"}` + "\n",
}

// FuzzForgery puts bytes that somebody without the nonce wrote between any two lines of a whole report: no test is passed for them, and
// unless they are none the report is whole no more.
func FuzzForgery(f *testing.F) {
	for i, s := range seeds {
		f.Add(uint16(i), []byte(s))
		f.Add(uint16(i+5), []byte(s))
	}
	channels := []channel{pytestChannel(), goChannel(f)}
	var want [][]string
	for _, c := range channels {
		passed, defect := c.read(c.answer(text(c.genuine)))
		if len(passed) == 0 || defect != "" {
			f.Fatalf("%s: the genuine report: %v, %q", c.name, passed, defect)
		}
		want = append(want, passed)
	}
	f.Fuzz(func(t *testing.T, at uint16, forged []byte) {
		if knows(forged) {
			return
		}
		for i, c := range channels {
			whole := text(c.genuine)
			n := len(text(c.genuine[:int(at)%(len(c.genuine)+1)])) // between two lines: the script writes each at once
			passed, defect := c.read(c.answer(slices.Concat(whole[:n], forged, whole[n:])))
			if defect == "" && (len(forged) > 0 && strings.TrimSpace(string(forged)) != "" || !slices.Equal(passed, want[i])) {
				t.Errorf("%s: whole in spite of %q at %d: %v", c.name, forged, n, passed)
			}
			for _, id := range passed {
				if !slices.Contains(want[i], id) {
					t.Errorf("%s: %q at %d made %s pass", c.name, forged, n, id)
				}
			}
		}
	})
}

// FuzzChannel reads anything that somebody with the nonce wrote. A report that is whole has, for each test that it passes,
// one announcement and one passed result of each sort; and without the nonce there is none.
func FuzzChannel(f *testing.F) {
	channels := []channel{pytestChannel(), goChannel(f)}
	for _, c := range channels {
		f.Add([]byte(strings.ReplaceAll(string(text(c.genuine)), nonce, "N")))
		f.Add([]byte(strings.ReplaceAll(string(text(c.genuine)), nonce, "M")))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.ReplaceAll(data, []byte(`"N"`), []byte(`"`+nonce+`"`))
		var lines []map[string]any
		for line := range bytes.Lines(data) {
			var l map[string]any
			if json.Unmarshal(line, &l) == nil {
				lines = append(lines, l)
			}
		}
		for _, c := range channels {
			passed, defect := c.read(c.answer(data))
			if defect != "" || folded(lines) {
				continue
			}
			if !knows(data) {
				t.Errorf("%s: whole without the nonce", c.name)
			}
			for _, id := range passed {
				if lacks := c.proof(lines, id); len(lacks) > 0 {
					t.Errorf("%s: %s passed with %v", c.name, id, lacks)
				}
			}
		}
	})
}

// folded reports whether a line has a key in upper case: the reader takes it for the one in lower case, and a map does not.
func folded(lines []map[string]any) bool {
	for _, l := range lines {
		for k := range l {
			if k != strings.ToLower(k) {
				return true
			}
		}
	}
	return false
}

// FuzzProbe reads the answers to two questions from anything. What is taken for an answer is one to a question that was asked,
// in its turn, from a line with the nonce; it is no larger than the encoders send; and sent again it reads the same.
func FuzzProbe(f *testing.F) {
	for _, v := range []string{
		`{"t":"list","items":[{"t":"int","v":"1"}]}`, `{"t":"set","items":[{"t":"str","v":"b"},{"t":"str","v":"a"},{"t":"set"}]}`, `{"t":"dict","pairs":[[{"t":"none"},{"t":"bool","v":"true"}]]}`,
		`{"t":"raised","class":"E","bases":["E"],"v":"x"}`, `{"t":"list","items":[{"t":"raised"}]}`, `{"t":"what"}`, `null`, `[]`, `{"t":"dict","pairs":[[{"t":"none"}]]}`,
		strings.Repeat(`{"t":"set","items":[{"t":"set"},`, 60) + `{"t":"none"}` + strings.Repeat(`]}`, 60),
	} {
		f.Add([]byte(`{"nonce":"N","event":"case","id":"x","value":` + v + "}\n" + `{"nonce":"N","event":"case","id":"y","value":` + v + "}\n"))
		f.Add([]byte(`{"nonce":"","event":"case","id":"x","value":` + v + "}\n"))
	}
	asked := []Question{{ID: "x"}, {ID: "y"}}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.ReplaceAll(data, []byte(`"N"`), []byte(`"`+nonce+`"`))
		a := answer{nonce: nonce, report: data}
		rep := a.read()
		got := rep.cases(asked)
		if len(got) > 0 && !knows(data) {
			t.Errorf("answers without the nonce: %v", got)
		}
		var again [][]byte
		for i, c := range got {
			if i >= len(asked) || c.ID != asked[i].ID {
				t.Fatalf("answer %d is to %q", i, c.ID)
			}
			if d, n := size(c.Value); d > maxDepth || n > maxParts {
				t.Errorf("an answer of %d parts, %d deep", n, d)
			}
			line, err := json.Marshal(map[string]any{"nonce": nonce, "event": "case", "id": c.ID, "value": c.Value})
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, line, []byte("\n"))
		}
		second := answer{nonce: nonce, report: bytes.Join(again, nil)}.read()
		if diff := cmp.Diff(got, second.cases(asked)); diff != "" {
			t.Errorf("sent again: %s", diff)
		}
	})
}

// size is how deep v is, and of how many parts.
func size(v tare.Value) (depth, parts int) {
	parts = 1
	inner := slices.Clone(v.Items)
	for _, p := range v.Pairs {
		inner = append(inner, p[0], p[1])
	}
	for _, it := range inner {
		d, n := size(it)
		depth, parts = max(depth, d+1), parts+n
	}
	return depth, parts
}

// TestFullReports reads reports as large as a channel takes, each of the shape that costs a careless reader most. The time is
// many times what they need, and a small part of what one takes that looks at every pair of lines.
func TestFullReports(t *testing.T) {
	many := func(line func(i int) string) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < maxReport-200; i++ {
			b.WriteString(line(i) + "\n")
		}
		return b.Bytes()
	}
	deep := strings.Repeat(`{"t":"set","items":[{"t":"set"},`, 4500) + `{"t":"none"}` + strings.Repeat(`]}`, 4500)
	wide := `{"t":"set","items":[` + strings.Repeat(`{"t":"list","items":[{"t":"none"}]},`, 24_000) + `{"t":"none"}]}`
	for name, data := range map[string][]byte{
		"pytest: items":    many(func(i int) string { return says(`"event":"item","item":%d,"id":"a.py::t%d"`, i, i) }),
		"gotest: one item": many(func(int) string { return says(`"event":"item","item":0,"id":"ticket/span.TestOther"`) }),
		"gotest: items":    many(func(i int) string { return says(`"event":"item","item":%d,"id":"ticket/span.T%d"`, i, i) }),
		"pytest: results":  many(func(i int) string { return says(`"event":"result","item":%d,"id":"a.py::t%d","when":"call"`, i, i) }),
		"gotest: subtests": many(func(i int) string { return says(`"event":"sub","item":0,"id":"TestOther/%d","when":"call"`, i) }),
		"pytest: cases":    many(func(int) string { return says(`"event":"case","id":"x","value":{"t":"none"}`) }),
		"pytest: nested":   many(func(int) string { return says(`"event":"case","id":"x","value":%s`, deep) }),
		"gotest: wide":     many(func(int) string { return says(`"event":"case","id":"x","value":%s`, wide) }),
		"pytest: one line": bytes.Repeat([]byte{'['}, maxReport),
	} {
		for _, c := range []channel{pytestChannel(), goChannel(t)} {
			if !strings.HasPrefix(name, c.name) {
				continue
			}
			began := time.Now()
			a := c.answer(data)
			_, defect := c.read(a)
			rep := a.read()
			rep.cases([]Question{{ID: "x"}, {ID: "y"}})
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s takes %s", name, took)
			}
			if defect == "" {
				t.Errorf("%s is a whole report", name)
			}
		}
	}
}
