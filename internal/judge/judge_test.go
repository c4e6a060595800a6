package judge

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write testdata anew")

// A recipe is how the scores of one dimension are made: people and judge see the same quality, each with an error of their own; the
// judge also moves by shift when the order is swapped.
type recipe struct {
	people, judge, shift float64
	want                 string // the one reason for which it is kept out, "" when it is admitted
	fits                 func(Dimension) bool
}

func near(e Estimate, want, within float64) bool {
	return e.Value != nil && math.Abs(*e.Value-want) <= within
}

// lab is the data set of "Grading agents without trusting the simulator": 234 scored cells in six dimensions, so 39 items in each. Four
// dimensions move their mean by more than 0.5 when the order is swapped, one reaches 0.42 where the reviewers reach 0.67, and of
// the sixth, of which nothing more is told, the interval does not support the floor.
func lab() []recipe {
	moved := func(d Dimension) bool { return true }
	return []recipe{
		{0.5, 0.45, 0.9, OrderMatters, moved}, {0.5, 0.45, -0.8, OrderMatters, moved}, {0.5, 0.45, 1.1, OrderMatters, moved}, {0.45, 0.45, 0.75, OrderMatters, moved},
		{0.95, 1.7, 0, WeakAgreement, func(d Dimension) bool {
			return near(d.Agreement.Ordinal, 0.42, 0.005) && near(d.Reference.Ordinal, 0.67, 0.005)
		}},
		{0.8, 1.0, 0.1, UncertainAgree, func(d Dimension) bool { return near(d.Agreement.Ordinal, 0.66, 0.03) }},
	}
}

func good() []recipe {
	return []recipe{{0.5, 0.45, 0.05, "", func(Dimension) bool { return true }}, {0.5, 0.5, 0, "", func(Dimension) bool { return true }}}
}

const labItems = 39

// draw makes the ratings of one dimension, with a scale from 1 to 7, three people and a judge in both orders.
func draw(rng *rand.Rand, name string, r recipe) []Rating {
	var out []Rating
	score := func(x float64) *float64 {
		x = math.Round(min(7, max(1, 4+x)))
		return &x
	}
	for i := range labItems {
		quality := rng.NormFloat64() * 1.4
		item := fmt.Sprintf("run-%02d", i+1)
		for p := range 3 {
			out = append(out, Rating{Item: item, Dimension: name, Rater: fmt.Sprintf("reviewer-%d", p+1), Kind: Human, Order: Forward, Score: score(quality + r.people*rng.NormFloat64())})
		}
		said := quality + r.judge*rng.NormFloat64()
		out = append(out,
			Rating{Item: item, Dimension: name, Rater: "model", Kind: Model, Order: Forward, Score: score(said - r.shift/2 + 0.2*rng.NormFloat64())},
			Rating{Item: item, Dimension: name, Rater: "model", Kind: Model, Order: Swapped, Score: score(said + r.shift/2 + 0.2*rng.NormFloat64())})
	}
	return out
}

// dataSet draws data sets until each dimension is as its recipe says.
func dataSet(t *testing.T, recipes []recipe) Table {
	t.Helper()
	var all Table
	quick := DefaultFloors()
	for n, r := range recipes {
		for try := uint64(0); ; try++ {
			if try == 4000 {
				t.Fatalf("no data set is as recipe %d says", n+1)
			}
			one := Table{Ratings: draw(rand.New(rand.NewPCG(try, uint64(n))), fmt.Sprintf("dimension-%d", n+1), r)}
			quick.Resamples = 200
			if a, err := Admit(one, quick, time.Time{}); err != nil || !r.fits(a.Dimensions[0]) {
				continue
			}
			a, err := Admit(one, DefaultFloors(), time.Time{})
			if err == nil && codes(a.Dimensions[0]) == r.want {
				all.Ratings = append(all.Ratings, one.Ratings...)
				break
			}
		}
	}
	return all
}

func codes(d Dimension) string {
	var out []string
	for _, r := range d.Reasons {
		out = append(out, r.Code)
	}
	return strings.Join(out, " ")
}

func writeCSV(t *testing.T, name string, table Table) {
	t.Helper()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{columns[:]}
	for _, r := range table.Ratings {
		rows = append(rows, []string{r.Item, r.Dimension, r.Rater, r.Kind, r.Order, strconv.FormatFloat(*r.Score, 'g', -1, 64)})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLab refuses all six dimensions of the data set, each for its own reason, and admits those of the good one.
func TestLab(t *testing.T) {
	for name, recipes := range map[string][]recipe{"lab.csv": lab(), "good.csv": good()} {
		path := filepath.Join("testdata", name)
		if *update {
			writeCSV(t, path, dataSet(t, recipes))
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := Read(path, b)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Admit(table, DefaultFloors(), time.Time{})
		if err != nil || len(a.Dimensions) != len(recipes) {
			t.Fatalf("%s: %d dimensions, %v", name, len(a.Dimensions), err)
		}
		cells := 0
		for i, d := range a.Dimensions {
			cells += d.Cells
			if codes(d) != recipes[i].want || !recipes[i].fits(d) || d.Admitted != (recipes[i].want == "") {
				t.Errorf("%s, %s: %v, want %q", name, d.Name, d.Reasons, recipes[i].want)
			}
			if a.Effect(d.Judge, d.Name) != d.Admitted {
				t.Errorf("%s, %s: the effect is not the admission's", name, d.Name)
			}
			if want := map[bool]int{true: 0, false: labItems}[d.Admitted]; len(d.Review) != want {
				t.Errorf("%s, %s: %d items go to review, want %d", name, d.Name, len(d.Review), want)
			}
			t.Logf("%s %s: %v", name, d.Name, d.Reasons)
		}
		if name == "lab.csv" && cells != 234 {
			t.Errorf("there are %d cells", cells)
		}
		if got := len(a.Scores(table)); got != map[string]int{"lab.csv": 0, "good.csv": 2 * labItems}[name] {
			t.Errorf("%s: %d scores may be shown", name, got)
		}
	}
}

func read(t *testing.T, name string) Table {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	table, err := Read(name, b)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestEveryReasonBites spoils the good data set in one way each, and sees it refused for that.
func TestEveryReasonBites(t *testing.T) {
	first := func(r Rating) bool { return r.Dimension == "dimension-1" }
	for _, tt := range []struct {
		name  string
		spoil func(*Table, *Floors)
		want  string
	}{
		{"as it is", func(*Table, *Floors) {}, ""},
		{"too few items", func(t *Table, f *Floors) {
			t.Ratings = slices.DeleteFunc(t.Ratings, func(r Rating) bool { return r.Item > "run-19" })
		}, FewItems},
		{"an order left out", func(t *Table, f *Floors) {
			t.Ratings = slices.DeleteFunc(t.Ratings, func(r Rating) bool { return r.Kind == Model && r.Order == Swapped })
		}, "few_items missing shift_unknown"},
		{"cells left out", func(t *Table, f *Floors) {
			t.Ratings = slices.DeleteFunc(t.Ratings, func(r Rating) bool { return r.Kind == Model && r.Item > "run-35" })
		}, MissingCells},
		{"one reviewer", func(t *Table, f *Floors) {
			t.Ratings = slices.DeleteFunc(t.Ratings, func(r Rating) bool { return r.Kind == Human && r.Rater != "reviewer-1" })
		}, NoReference},
		{"reviewers who do not agree", func(t *Table, f *Floors) {
			n := 0.0
			for i, r := range t.Ratings {
				if r.Rater == "reviewer-2" || r.Rater == "reviewer-3" {
					n++
					x := math.Mod(n*n+n, 7) + 1
					t.Ratings[i].Score = &x
				}
			}
		}, "reference agreement"},
		{"everybody says four", func(t *Table, f *Floors) {
			for i := range t.Ratings {
				x := 4.0
				t.Ratings[i].Score = &x
			}
		}, "no_reference agreement_unknown"},
		{"the judge says the opposite", func(t *Table, f *Floors) {
			for i, r := range t.Ratings {
				if r.Kind == Model {
					x := 8 - *r.Score
					t.Ratings[i].Score = &x
				}
			}
		}, WeakAgreement},
		{"a higher floor", func(t *Table, f *Floors) { f.Agreement = 0.78 }, UncertainAgree},
		{"points moved", func(t *Table, f *Floors) {
			for i, r := range t.Ratings {
				if r.Order == Swapped {
					x := *r.Score + 0.6
					t.Ratings[i].Score = &x
				}
			}
		}, OrderMatters},
		{"a smaller shift allowed", func(t *Table, f *Floors) { f.Shift = 0.08 }, OrderMayMatter},
	} {
		table, f := read(t, "good.csv"), DefaultFloors()
		table.Ratings = slices.DeleteFunc(table.Ratings, func(r Rating) bool { return !first(r) })
		f.Resamples = 400
		tt.spoil(&table, &f)
		a, err := Admit(table, f, time.Time{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := codes(a.Dimensions[0]); got != tt.want {
			t.Errorf("%s: %v", tt.name, a.Dimensions[0].Reasons)
		}
	}
}

func TestAbstentionsGoToReview(t *testing.T) {
	table := read(t, "good.csv")
	for i, r := range table.Ratings {
		if r.Kind == Model && (r.Item == "run-03" || r.Item == "run-04" && r.Order == Swapped) {
			table.Ratings[i].Score, table.Ratings[i].Abstain = nil, true
		}
	}
	a, err := Admit(table, DefaultFloors(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	d := a.Dimensions[0]
	if !d.Admitted || d.Abstained != 3 || d.Missing != 0 || !slices.Equal(d.Review, []string{"run-03", "run-04"}) {
		t.Errorf("%+v", d)
	}
	if got := len(a.Scores(table)); got != 2*(labItems-2) {
		t.Errorf("%d scores may be shown", got)
	}
}

// TestUnworthyJudgesAreSeldomAdmitted draws judges that are just at the floor, and counts how often one is let in that should not be.
func TestUnworthyJudgesAreSeldomAdmitted(t *testing.T) {
	const samples = 40
	f := DefaultFloors()
	f.Resamples = 200
	in := func(r recipe) (n int) {
		for s := range samples {
			a, err := Admit(Table{Ratings: draw(rand.New(rand.NewPCG(uint64(s), 99)), "d", r)}, f, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if a.Dimensions[0].Admitted {
				n++
			}
		}
		return n
	}
	atFloor, moved, worthy := in(recipe{people: 0.8, judge: 1.2}), in(recipe{people: 0.4, judge: 0.4, shift: 0.55}), in(recipe{people: 0.4, judge: 0.4})
	t.Logf("of %d: %d at the floor, %d that move by 0.55, %d worthy ones", samples, atFloor, moved, worthy)
	if atFloor > samples/10 || moved > samples/10 || worthy < samples*9/10 {
		t.Errorf("of %d: %d at the floor, %d that move by 0.55 and %d worthy ones are admitted", samples, atFloor, moved, worthy)
	}
}

func TestRead(t *testing.T) {
	const head = "item,dimension,rater,kind,order,score\n"
	for _, tt := range []struct{ text, want string }{
		{head + "a,d,r,human,,3\n", ""},
		{head + "a,d,r,human,,\n", ""},
		{head + "a,d,r,model,ab,abstain\n", ""},
		{"score,item,order,dimension,rater,kind\n3,a,,d,r,human\n", ""},
		{`{"item":"a","dimension":"d","rater":"r","kind":"model","order":"ba","score":3.5}` + "\n\n", ""},
		{`{"item":"a","dimension":"d","rater":"r","kind":"human","score":null}`, ""},
		{"", "f:1:1: there are no ratings in it"},
		{head, "f:1:1: there are no ratings in it"},
		{"item,dimension,rater,kind,order\n", "f:1:1: the head lacks the column score"},
		{"item,dimension,rater,kind,order,score,why\n", `f:1:39: there is no column "why"`},
		{"item,item,dimension,rater,kind,order,score\n", "f:1:6: the column item is there twice"},
		{head + "a,d,r,human,3\n", "f:2:1: wrong number of fields"},
		{head + "a,d,r,\"human,,3\n", "f:2:17: extraneous or missing"},
		{head + "a,d,r,human,,three\n", `f:2:14: score: it is a number, abstain, or empty where it is missing, not "three"`},
		{head + "a,d,r,human,,NaN\n", "f:2:14: score: it is a number"},
		{head + "a,d,r,robot,,3\n", `f:2:7: kind: it is human or model, not "robot"`},
		{head + "a,d,r,model,,3\n", "f:2:13: order: of a model the order must be known"},
		{head + "a,d,r,human,xy,3\n", `f:2:13: order: it is ab or ba, not "xy"`},
		{head + ",d,r,human,,3\n", "f:2:1: item: it is empty"},
		{head + "a,d,r,human,,3\na,d,r,human,,3\n", "f:3:1: \"r\" has rated \"a\" in \"d\", shown \"\", before: in line 2"},
		{head + "a,d,r,human,,3\nb,d,r,model,ab,3\n", "f:3:7: rater \"r\" was human before"},
		{`{"item":"a","dimension":"d","rater":"r","kind":"human","score":"x"}`, `f:1:64: score: it is a number`},
		{`{"item":3,"dimension":"d","rater":"r","kind":"human","score":3}`, `f:1:9: item: a text is wanted, not 3`},
		{`{"item":"a","why":"d"}`, `f:1:13: there is no key "why"`},
		{`{"item":"a","item":"d"}`, `f:1:13: the key item is there twice`},
		{`{"item":["a"]}`, `f:1:9: item is a text, a number or null`},
		{`{"item":"a"`, `f:1:12: the object does not end in its line`},
		{`{"item":"a"} x`, `f:1:13: there is something behind the object`},
		{`{"item" "a"}`, `f:1:9: invalid character`},
		{"{\"item\":\"ä\",\"dimension\":\"d\",\"rater\":\"r\",\"kind\":\"human\",\"score\":\"x\"}", `f:1:64: score`},
		{"\xff", "f:1:1: it is not UTF-8"},
	} {
		_, err := Read("f", []byte(tt.text))
		var bad *Error
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.want != "" && (!errors.As(err, &bad) || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("item,dimension,rater,kind,order,score\na,d,r,human,,3\n"))
	f.Add([]byte(`{"item":"a","dimension":"d","rater":"r","kind":"model","order":"ba","score":3.5}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Read("f", b)
		var bad *Error
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("%T: %v", err, err)
		}
		if err == nil && len(table.Ratings) == 0 {
			t.Error("neither ratings nor an error")
		}
	})
}

// TestTableReadsBack writes ratings as lines and reads them.
func TestTableReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rating{Item: rapid.StringN(1, 20, 60).Draw(t, "item"), Dimension: "d", Rater: "m", Kind: Model, Order: rapid.SampledFrom([]string{Forward, Swapped}).Draw(t, "order")}
		if rapid.Bool().Draw(t, "scored") {
			x := rapid.Float64Range(-1e6, 1e6).Draw(t, "score")
			r.Score = &x
		} else {
			r.Abstain = rapid.Bool().Draw(t, "abstain")
		}
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read("f", line)
		if err != nil || len(got.Ratings) != 1 {
			t.Fatalf("%s: %v", line, err)
		}
		g := got.Ratings[0]
		if g.cell() != r.cell() || g.Abstain != r.Abstain || (g.Score == nil) != (r.Score == nil) || g.Score != nil && *g.Score != *r.Score {
			t.Fatalf("%s reads as %+v", line, g)
		}
	})
}

// echo is a judge that says what it is told to.
type echo func(Question) (Answer, error)

func (echo) Name() string                                        { return "echo" }
func (e echo) Ask(_ context.Context, q Question) (Answer, error) { return e(q) }

func TestFill(t *testing.T) {
	items, err := ReadItems("i", []byte(`{"item":"x","a":"first","b":"second"}`+"\n"+`{"item":"y","a":"one","b":"two","context":"numbers"}`))
	if err != nil {
		t.Fatal(err)
	}
	scales, err := ReadScales("s", []byte(`{"dimension":"d","rubric":"is it good?","low":1,"high":5}`))
	if err != nil {
		t.Fatal(err)
	}
	var table Table
	var asked []string
	failing := true
	judge := echo(func(q Question) (Answer, error) {
		asked = append(asked, q.Item+q.Order+q.Parts[0])
		if q.Item == "y" && q.Order == Swapped && failing {
			return Answer{}, errors.New("overloaded")
		}
		x := 3.0
		return Answer{Score: &x}, nil
	})
	keep := func(r Rating) error { table.Ratings = append(table.Ratings, r); return nil }
	failed := 0
	told := func(c Cell) {
		if c.Err != nil {
			failed++
		}
	}
	if err := Fill(t.Context(), judge, items, scales, table, keep, told); err != nil || failed != 1 || len(table.Ratings) != 3 {
		t.Fatalf("%v, %d failed, %+v", err, failed, table.Ratings)
	}
	if want := []string{"xabfirst", "xbasecond", "yabone", "ybatwo"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v", asked)
	}
	asked, failing = nil, false
	if err := Fill(t.Context(), judge, items, scales, table, keep, told); err != nil || len(table.Ratings) != 4 || !slices.Equal(asked, []string{"ybatwo"}) {
		t.Errorf("resumed: %v, asked %v", err, asked)
	}
}

func TestCommand(t *testing.T) {
	q := Question{Schema: QuestionSchema, Item: "x", Dimension: "d", Low: 1, High: 5, Order: Forward, Parts: []string{"a", "b"}}
	for _, tt := range []struct{ script, want string }{
		{`grep -q '"order":"ab"' && echo '{"score": 4}'`, ""},
		{`echo '{"abstain": true}'`, ""},
		{`echo '{"score": 9}'`, "is not from 1 to 5"},
		{`echo '{"score": 4, "abstain": true}'`, "not both or neither"},
		{`echo '{}'`, "not both or neither"},
		{`echo '{"score": 4} {"score": 2}'`, "something behind it"},
		{`echo 'I would say 4'`, "reading its answer"},
		{`echo '{"score": 4, "why": "x"}'`, "unknown field"},
		{`echo broken >&2; exit 3`, "exit status 3: broken"},
		{`exec sleep 60`, "no answer within"},
		{`head -c 100000 /dev/zero`, "longer than"},
	} {
		path := filepath.Join(t.TempDir(), "judge.sh")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		limit := 20 * time.Second
		if strings.Contains(tt.script, "sleep") {
			limit = 100 * time.Millisecond
		}
		c, err := OpenCommand(path, limit)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Ask(t.Context(), q)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.script, err, tt.want)
		}
	}
	if _, err := OpenCommand(filepath.Join(t.TempDir(), "none"), time.Second); err == nil {
		t.Error("a judge that is not there was opened")
	}
}
