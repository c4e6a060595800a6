package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare"
)

// askGo asks the probe calls such as "name [1]".
func askGo(t *testing.T, subject, probe string, wall time.Duration, calls ...string) tare.Run {
	t.Helper()
	if wall == 0 {
		wall = long
	}
	var qs []Question
	for _, c := range calls {
		call, args, _ := strings.Cut(c, " ")
		if args == "" {
			args = "[]"
		}
		qs = append(qs, Question{ID: "case-" + c, Call: call, Args: []byte(args)})
	}
	r, err := GoTest{}.Probe(t.Context(), box, ProbeRequest{
		Tree: files(t, "go.mod", goMod, "s/s.go", subject), Sources: []string{"s"}, Hidden: files(t, "probe.go", probe), Cases: qs, Wall: wall,
	})
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Logf("%v %q %v\n%s", r.Complete, r.Defect, r.Command, r.Output)
	}
	return r
}

// TestGoProbeValues pins which value each thing that Go can return is.
func TestGoProbeValues(t *testing.T) {
	const subject = "package s\n\nimport \"errors\"\n\ntype Name string\n\ntype Error struct{}\n\nfunc (*Error) Error() string { return \"mine\" }\n\nvar ErrGone = errors.New(\"gone\")\n"
	const probe = `package main

import (
	"fmt"
	"math"
	"runtime"
	"ticket/s"
)

func i64() int64                       { return -5 }
func u8() uint8                        { return 200 }
func text() string                     { return "a\x00é" }
func bad() string                      { return "\xff" }
func raw() []byte                      { return []byte("hi") }
func floats() []float64                { return []float64{1, math.NaN(), math.Inf(-1), 0.1, 1e300} }
func list() []any                      { return []any{1, "x", nil, true, 2.5, []int(nil)} }
func named() s.Name                    { return "x" }
func pointer() *int                    { return new(int) }
func nothing()                         {}
func null() *int                       { return nil }
func nilmap() map[string]int           { return nil }
func dict() map[string][]int           { return map[string][]int{"b": {1}, "a": nil} }
func two() (int, string)               { return 1, "x" }
func fine() (int, error)               { return 1, nil }
func gone() (int, error)               { return 1, fmt.Errorf("it is %w", s.ErrGone) }
func mine() error                      { return &s.Error{} }
func typednil() error                  { var e *s.Error; return e }
func panics() int                      { var m map[int]int; m[1] = 1; return 1 }
func throws() int                      { panic("no") }
func exits() int                       { runtime.Goexit(); return 1 }
func deep() any                        { var v any; for range 60 { v = []any{v} }; return v }
func arguments(a int, b float64, c []any, d map[string]any) []any { return []any{a, b, c, d} }
`
	num := func(s string) tare.Value { return tare.Value{Kind: tare.KindInt, Text: s} }
	float := func(s string) tare.Value { return tare.Value{Kind: tare.KindFloat, Text: s} }
	str := func(s string) tare.Value { return tare.Value{Kind: tare.KindStr, Text: s} }
	seq := func(k tare.ValueKind, items ...tare.Value) tare.Value { return tare.Value{Kind: k, Items: items} }
	raised := func(text string, bases ...string) tare.Value {
		return tare.Value{Kind: tare.KindRaised, Class: bases[0], Bases: bases, Text: text}
	}
	none, empty := tare.Value{Kind: tare.KindNone}, tare.Value{Kind: tare.KindList}
	cases := []struct {
		call string
		want tare.Value
	}{
		{"i64", num("-5")}, {"u8", num("200")}, {"text", str("a\x00é")}, {"raw", tare.Value{Kind: tare.KindBytes, Text: "aGk="}},
		{"bad", tare.Value{Kind: tare.KindOther, Class: "string", Text: `"\xff"`}},
		{"floats", seq(tare.KindList, float("1.0"), float("nan"), float("-inf"), float("0.1"), float("1e+300"))},
		{"list", seq(tare.KindList, num("1"), str("x"), none, tare.Value{Kind: tare.KindBool, Text: "true"}, float("2.5"), empty)},
		{"named", tare.Value{Kind: tare.KindOther, Class: "s.Name"}}, {"pointer", tare.Value{Kind: tare.KindOther, Class: "*int"}},
		{"nothing", none}, {"null", none}, {"nilmap", tare.Value{Kind: tare.KindDict}},
		{"dict", tare.Value{Kind: tare.KindDict, Pairs: [][2]tare.Value{{str("a"), empty}, {str("b"), seq(tare.KindList, num("1"))}}}},
		{"two", seq(tare.KindTuple, num("1"), str("x"))}, {"fine", num("1")},
		{"gone", raised("it is gone", "error", "fmt.wrapError", "errors.errorString")}, {"mine", raised("mine", "error", "s.Error")},
		{"typednil", raised("mine", "error", "s.Error")},
		{"panics", raised("assignment to entry in nil map", "panic", "runtime.plainError", "runtime.Error")}, {"throws", raised("no", "panic", "string")},
		{"exits", raised("the goroutine was ended", "goexit")},
		{"deep", tare.Value{Kind: tare.KindOther, Class: "interface {}", Text: "nested deeper than 40"}},
		{`arguments [1, 2, [1, 1.0, {"x": 2}], {"y": 3.0}]`, seq(tare.KindList, num("1"), float("2.0"),
			seq(tare.KindList, num("1"), float("1.0"), tare.Value{Kind: tare.KindDict, Pairs: [][2]tare.Value{{str("x"), num("2")}}}),
			tare.Value{Kind: tare.KindDict, Pairs: [][2]tare.Value{{str("y"), float("3.0")}}})},
	}
	var calls []string
	for _, c := range cases {
		calls = append(calls, c.call)
	}
	r := askGo(t, subject, probe, 0, calls...)
	if !r.Complete || len(r.Cases) != len(cases) {
		t.Fatalf("%q, %d of %d cases\n%s", r.Defect, len(r.Cases), len(cases), r.Output)
	}
	for i, c := range cases {
		got, _ := json.Marshal(r.Cases[i].Value)
		want, _ := json.Marshal(c.want)
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.call, d)
		}
	}
	for call, want := range map[string]string{"gone [1]": "1 arguments", "absent": "no such function", `arguments [1.5, 1, [], {}]`: "argument 1"} {
		if r := askGo(t, subject, probe, 0, call); r.Complete || !strings.Contains(r.Defect, want) {
			t.Errorf("%s: %v %q", call, r.Complete, r.Defect)
		}
	}
}

// TestGoHostileProbed puts code into the subject that ends, blocks or talks over the report. What is done when it is called stands
// in one subject, and the argument says which of it.
func TestGoHostileProbed(t *testing.T) {
	const probe = "package main\n\nimport \"ticket/s\"\n\nfunc first() int { return 1 }\nfunc second(what string) int { return s.Go(what) }\nfunc third() int { return 3 }\n"
	const whole = "import (\n\t\"os\"\n\t\"syscall\"\n\t\"time\"\n)\n\n" + `func Go(what string) int {
	switch what {
	case "exit in a call":
		os.Exit(0)
	case "a panic elsewhere":
		go panic(1)
		select {}
	case "hang":
		time.Sleep(time.Hour)
	case "garbage":
		for i := 3; i < 1000; i++ {
			syscall.Write(i, []byte("hello\n"))
		}
	case "prints":
		println("{\"nonce\":\"\",\"event\":\"end\"}")
	}
	return 2
}`
	for _, c := range []struct {
		name, code string
		wall       time.Duration
		defect     string
		answers    int
	}{
		{name: "nothing", code: whole, answers: 3},
		{name: "exit in init", code: "import \"os\"\nfunc init() { os.Exit(0) }\nfunc Go(string) int { return 2 }", defect: "no end mark: the process ended by itself with status 0"},
		{name: "exit in a call", code: whole, defect: "ended by itself with status 0", answers: 1},
		{name: "a panic elsewhere", code: whole, defect: "ended by itself with status 2", answers: 1},
		{name: "hang", code: whole, wall: 4 * time.Second, defect: "stopped by the limit on wall", answers: 1},
		{name: "does not build", code: "func Go(string) int { return undefinedThing }", defect: "the probe could not be built: s/s.go:2: undefined: undefinedThing"},
		{name: "another signature", code: "func Go(string) string { return \"\" }", defect: "the probe could not be built: hidden/probe.go:6: cannot use s.Go(what)"},
		{name: "garbage", code: whole, defect: "is not one of the report's", answers: 1},
		{name: "prints", code: whole, answers: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := askGo(t, "package s\n"+c.code+"\n", probe, c.wall, "first", fmt.Sprintf("second [%q]", c.name), "third")
			if r.Complete != (c.defect == "") || !strings.Contains(r.Defect, c.defect) {
				t.Errorf("complete %v, defect %q; want %q in it\n%s", r.Complete, r.Defect, c.defect, r.Output)
			}
			if len(r.Cases) != c.answers {
				t.Errorf("%d answers, want %d: %v", len(r.Cases), c.answers, r.Cases)
			}
		})
	}
}
