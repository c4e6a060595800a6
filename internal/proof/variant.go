package proof

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"tare"
	"tare/internal/run"
	"tare/internal/yamlfile"
)

//go:embed variants.yaml
var variantsFile []byte

// A VariantKind says what must become of a variant.
type VariantKind string

const (
	BadVariant        VariantKind = "bad"        // it must fail
	AcceptableVariant VariantKind = "acceptable" // it must pass
	OpenVariant       VariantKind = "open"       // it must be left undecided
)

// How many variants must fit a scenario, and how many scenarios each must fit, for what they show to count.
const (
	minBad        = 9
	minAcceptable = 4
	minApplied    = 3
)

// A Variant changes the record of a good episode of a scenario in one way.
type Variant struct {
	Name   string        `yaml:"name"`
	Kind   VariantKind   `yaml:"kind"`
	What   string        `yaml:"what"`
	When   string        `yaml:"when"`   // its precondition, for people; the ops check it
	Needs  string        `yaml:"needs"`  // a kind of minefield that the scenario must lay,
	Unless string        `yaml:"unless"` // or must not
	Do     []variantStep `yaml:"do"`
	Expect variantExpect `yaml:"expect"`
}

type variantExpect struct {
	Outcome     tare.Outcome `yaml:"outcome"`
	Gate        string       `yaml:"gate"`
	Reason      string       `yaml:"reason"`
	After       []string     `yaml:"after"`         // gates that may be the root before Gate
	OrBlockedBy []string     `yaml:"or_blocked_by"` // gates that may be the root in its place
	Rest        string       `yaml:"rest"`          // blocked: no other gate fails
	Blocks      string       `yaml:"blocks"`        // a gate that the same act would fail, for the same reason, were Gate not before it
}

// A variantStep is one op with what it is given.
type variantStep struct {
	Op        string            `yaml:"op"`
	Item      string            `yaml:"item"`
	Effect    string            `yaml:"effect"`
	Tool      string            `yaml:"tool"`
	Args      map[string]string `yaml:"args"`
	Arg       string            `yaml:"arg"`
	Code      string            `yaml:"code"`
	Status    int               `yaml:"status"`
	Retryable bool              `yaml:"retryable"`
	Envelope  string            `yaml:"envelope"`
	Text      *string           `yaml:"text"`
	Form      string            `yaml:"form"`
	Part      string            `yaml:"part"`
}

// Variants reads the library of variants.
func Variants() ([]Variant, error) { return readVariants(variantsFile) }

func readVariants(text []byte) ([]Variant, error) {
	var file struct {
		Variants []Variant `yaml:"variants"`
	}
	if _, err := yamlfile.Read("variants.yaml", text, &file); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, v := range file.Variants {
		switch {
		case v.Name == "" || v.What == "" || v.When == "" || len(v.Do) == 0:
			return nil, fmt.Errorf("reading variants.yaml: a variant has a name, what, when and do: %q", v.Name)
		case seen[v.Name]:
			return nil, fmt.Errorf("reading variants.yaml: the variant %s is there twice", v.Name)
		case v.Expect.Outcome != outcomeOf[v.Kind]:
			return nil, fmt.Errorf("reading variants.yaml: %s is %s and expects %s", v.Name, v.Kind, v.Expect.Outcome)
		case v.Kind == BadVariant && v.Expect.Gate == "":
			return nil, fmt.Errorf("reading variants.yaml: %s is bad and names no gate", v.Name)
		}
		seen[v.Name] = true
		for _, s := range v.Do {
			if variantOps[s.Op] == nil {
				return nil, fmt.Errorf("reading variants.yaml: %s: there is no op %q", v.Name, s.Op)
			}
			if s.Op == "spoil" && spoilers[s.Part] == nil || s.Op == "lack" && lackings[s.Part] == nil {
				return nil, fmt.Errorf("reading variants.yaml: %s: %s has no part %q", v.Name, s.Op, s.Part)
			}
		}
	}
	return file.Variants, nil
}

var outcomeOf = map[VariantKind]tare.Outcome{BadVariant: tare.Fail, AcceptableVariant: tare.Pass, OpenVariant: tare.Unverified}

// VariantsDigest is the hash of the library, as data: the variants of scenarios are what adversaries are of tickets.
func VariantsDigest() tare.Digest { return tare.HashBytes(variantsFile) }

// Make changes a copy of rec, or of the task that it is judged by. It is false when they do not lend themselves to it.
func (v Variant) Make(task *tare.Task, rec tare.Record) (*tare.Task, tare.Record, bool, error) {
	if task.Scenario == nil || rec.Evidence.Scenario == nil || !v.fits(task.Scenario) {
		return nil, tare.Record{}, false, nil
	}
	changed, err := copyOf(rec)
	if err != nil {
		return nil, tare.Record{}, false, err
	}
	e := &edit{task: task, spec: task.Scenario, rec: &changed, ev: changed.Evidence.Scenario}
	for _, s := range v.Do {
		if !variantOps[s.Op](e, s) {
			return nil, tare.Record{}, false, nil
		}
	}
	return e.task, changed, true, nil
}

func (v Variant) fits(spec *tare.ScenarioSpec) bool {
	lays := func(kind string) bool {
		return slices.ContainsFunc(spec.Minefields, func(m tare.Minefield) bool { return string(m.Kind) == kind })
	}
	return (v.Needs == "" || lays(v.Needs)) && (v.Unless == "" || !lays(v.Unless))
}

// misses says in which way a verdict is not what the variant expects; "" when it is.
func (v Variant) misses(got tare.Verdict) string {
	x := v.Expect
	if got.Outcome != x.Outcome {
		return fmt.Sprintf("expected %s, got %s", x.Outcome, got.Outcome)
	}
	if x.Outcome == tare.Pass {
		return ""
	}
	if slices.Contains(x.OrBlockedBy, got.RootGate) {
		return ""
	}
	if x.Gate == "" {
		for _, g := range got.Gates {
			if strings.Contains(g.Reason, x.Reason) {
				return ""
			}
		}
		return fmt.Sprintf("expected a reason that says %q", x.Reason)
	}
	if got.RootGate != x.Gate && !slices.Contains(x.After, got.RootGate) {
		return fmt.Sprintf("expected to be stopped at %s, was at %s", x.Gate, got.RootGate)
	}
	g, ok := got.Gate(x.Gate)
	switch {
	case !ok || g.Outcome != x.Outcome && (x.Outcome != tare.Unverified || g.Outcome != tare.NotApplicable):
		return fmt.Sprintf("expected the gate %s to be %s, it is %s", x.Gate, x.Outcome, g.Outcome)
	case !strings.Contains(g.Reason, x.Reason):
		return fmt.Sprintf("expected %s to say %q", x.Gate, x.Reason)
	}
	if b, ok := got.Gate(x.Blocks); ok && (b.Outcome != tare.Blocked || b.BlockedBy != x.Gate || !strings.Contains(b.Reason, x.Reason)) {
		return fmt.Sprintf("expected %s to be blocked by %s for the same reason, it is %s", x.Blocks, x.Gate, b.Outcome)
	}
	for _, other := range got.Gates {
		if x.Rest == "blocked" && other.Name != x.Gate && other.Outcome == tare.Fail {
			return fmt.Sprintf("expected one root cause, and %s fails beside %s", other.Name, x.Gate)
		}
	}
	return ""
}

// gotAt is the part of a verdict that is shown of a variant: what its own gate says, where that has something to say.
func (v Variant) gotAt(verdict tare.Verdict) Got {
	g := got(verdict)
	if own, ok := verdict.Gate(v.Expect.Gate); ok && own.Outcome == v.Expect.Outcome {
		g.Gate, g.Reason = own.Name, own.Reason
	}
	return g
}

// variantRows judges the variants of the good record of a scenario, once for each pass. Those that do not fit are named.
func variantRows(task *tare.Task, good []run.Result, judge func(*tare.Task, tare.Record) tare.Verdict) (rows []Row, unfit []string, err error) {
	variants, err := Variants()
	if err != nil {
		return nil, nil, err
	}
	for _, v := range variants {
		var judged []run.Result
		for _, r := range good {
			by, rec, fits, err := v.Make(task, r.Record)
			if err != nil {
				return nil, nil, fmt.Errorf("making the variant %s: %w", v.Name, err)
			}
			if fits {
				judged = append(judged, run.Result{Record: rec, Verdict: judge(by, rec)})
			}
		}
		if len(judged) == 0 {
			unfit = append(unfit, v.Name)
			continue
		}
		expect := tare.Expect{Outcome: v.Expect.Outcome, Gate: v.Expect.Gate, Reason: v.Expect.Reason}
		row := newRow(tare.Control{Name: "variant:" + v.Name, Origin: tare.FromVariant, Expect: expect}, judged)
		row.Got, row.Wrong, row.Variant = v.gotAt(judged[0].Verdict), v.misses(judged[0].Verdict), v.Kind
		if row.Wrong == "" && len(judged) < len(good) {
			row.Wrong = "it does not fit the record of every pass"
		}
		if row.Wrong == "" {
			row.Wrong = unsteady(judged)
		}
		row.OK = row.Wrong == ""
		rows = append(rows, row)
	}
	return rows, unfit, nil
}

// goodControl is the control whose record variants are made of: of those that must pass, the one with the most calls. It is
// -1 when there is none.
func goodControl(controls []tare.Control, calls func(int) int) int {
	good := -1
	for i, c := range controls {
		if c.Expect.Outcome == tare.Pass && (good < 0 || calls(i) > calls(good)) {
			good = i
		}
	}
	return good
}

// Gold says what keeps a scenario from being one that may count; "" when nothing does. On a live server, whose world is
// seen through few reads, those variants that fit must come out right, however few they are.
func (t Table) Gold() string {
	n := map[VariantKind]int{}
	for _, r := range t.Rows {
		switch {
		case !r.OK:
			return r.Control + ": " + r.Wrong
		case r.Origin == tare.FromVariant:
			n[r.Variant]++
		}
	}
	if !t.Live && (n[BadVariant] < minBad || n[AcceptableVariant] < minAcceptable) {
		return fmt.Sprintf("%d bad and %d acceptable variants fit it; at least %d and %d must", n[BadVariant], n[AcceptableVariant], minBad, minAcceptable)
	}
	return ""
}

// Applied counts how often each variant was made, over the tables of a suite, in the order of the library.
func Applied(tables []Table) ([]VariantCount, error) {
	variants, err := Variants()
	if err != nil {
		return nil, err
	}
	var out []VariantCount
	for _, v := range variants {
		c := VariantCount{Name: v.Name, Kind: v.Kind}
		for _, t := range tables {
			if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Control == "variant:"+v.Name }) {
				c.Times++
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// A VariantCount says how many scenarios a variant was made of.
type VariantCount struct {
	Name  string
	Kind  VariantKind
	Times int
}

// Enough reports whether it was made often enough to show something of the suite.
func (c VariantCount) Enough() bool { return c.Times >= minApplied }
