package judge

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare"
	"tare/internal/stats"
)

// AdmissionSchema is the schema of an Admission.
const AdmissionSchema = "tare.admission/1"

// Floors are what a dimension must reach.
type Floors struct {
	Agreement float64      `json:"agreement"` // alpha, between judge and reference raters and among these
	Shift     float64      `json:"shift"`     // most that the mean may move when the order is swapped, in points
	Items     int          `json:"items"`     // fewest that judge and raters have both scored
	Missing   float64      `json:"missing"`   // largest share of cells that the judge may have left without a word
	Metric    stats.Metric `json:"metric"`    // of the alpha that counts
	Resamples int          `json:"resamples"`
	Seed      uint64       `json:"seed"`
}

// DefaultFloors are those of the command line.
func DefaultFloors() Floors {
	return Floors{Agreement: 0.60, Shift: 0.5, Items: 20, Missing: 0.05, Metric: stats.Ordinal, Resamples: 2000, Seed: 1}
}

// An Estimate is a figure and its interval at 95 %. What could not be computed is nil.
type Estimate struct {
	Value    *float64        `json:"value"`
	Interval *stats.Interval `json:"interval"`
}

// Agreement is how far scores agree.
type Agreement struct {
	Ordinal  Estimate `json:"ordinal"`  // Krippendorff's alpha
	Interval Estimate `json:"interval"` // the same, with the interval metric
	Kappa    Estimate `json:"kappa"`    // quadratic-weighted; the mean over pairs of raters
	Items    int      `json:"items"`    // that it rests on
}

// By is the figure with that metric.
func (a Agreement) By(m stats.Metric) Estimate {
	if m == stats.IntervalScale {
		return a.Interval
	}
	return a.Ordinal
}

// A Reason is one thing that keeps a dimension out.
type Reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Codes of reasons.
const (
	FewItems         = "few_items"          // too few that judge and raters have both scored
	MissingCells     = "missing"            // too many cells that the judge left without a word
	NoReference      = "no_reference"       // fewer than two raters, or nothing that they could agree on
	WeakReference    = "reference"          // the raters do not agree among themselves
	WeakAgreement    = "agreement"          // the judge does not agree with the raters
	UncertainAgree   = "agreement_interval" // it may not
	OrderMatters     = "shift"              // the mean moves with the order
	OrderMayMatter   = "shift_interval"     // it may
	OrderNotCompared = "shift_unknown"      // no item was shown in both orders
	AgreementUnknown = "agreement_unknown"  // there is nothing to agree on
)

// A Dimension is one dimension of one judge, and whether it is admitted.
type Dimension struct {
	Judge     string    `json:"judge"`
	Name      string    `json:"dimension"`
	Cells     int       `json:"cells"` // items of the dimension; a judge owes each two scores
	Scored    int       `json:"scored"`
	Abstained int       `json:"abstained"`
	Missing   int       `json:"missing"`
	Reference Agreement `json:"reference"` // among the raters
	Agreement Agreement `json:"agreement"` // between judge and raters
	Shift     Estimate  `json:"shift"`     // of the mean score, from ab to ba, over items with both
	Paired    int       `json:"paired"`    // items with both
	Admitted  bool      `json:"admitted"`
	Reasons   []Reason  `json:"reasons,omitempty"` // why not; empty when admitted
	Review    []string  `json:"review,omitempty"`  // items that go to a person: all of them when it is not admitted, else those without an answer
}

// An Admission is what was decided of all judges and dimensions of a table.
type Admission struct {
	Schema     string      `json:"schema"`
	Ratings    tare.Digest `json:"ratings"` // of the table's entry
	Floors     Floors      `json:"floors"`
	Dimensions []Dimension `json:"dimensions"`
	Made       time.Time   `json:"made"`
}

// Effect reports whether the scores of a judge in a dimension may be shown beside a verdict. Nothing else decides that.
func (a Admission) Effect(judge, dimension string) bool {
	return slices.ContainsFunc(a.Dimensions, func(d Dimension) bool {
		return d.Judge == judge && d.Name == dimension && d.Admitted && len(d.Reasons) == 0
	})
}

// A Score is a softer score: the mean of both orders, of an item in a dimension that is admitted.
type Score struct {
	Judge     string  `json:"judge"`
	Dimension string  `json:"dimension"`
	Item      string  `json:"item"`
	Score     float64 `json:"score"`
}

// Scores are what of a table may be shown: of admitted dimensions the items that the judge scored in both orders.
func (a Admission) Scores(t Table) []Score {
	var out []Score
	for _, key := range judges(t) {
		if !a.Effect(key.judge, key.dimension) {
			continue
		}
		v := look(t, key)
		for _, item := range v.items {
			if both := v.judge[item]; both[0] != nil && both[1] != nil {
				out = append(out, Score{key.judge, key.dimension, item, (*both[0] + *both[1]) / 2})
			}
		}
	}
	return out
}

type key struct{ judge, dimension string }

// judges lists the judges of a table with their dimensions, in the order in which they first come.
func judges(t Table) []key {
	var out []key
	seen := map[key]bool{}
	for _, r := range t.Ratings {
		if k := (key{r.Rater, r.Dimension}); r.Kind == Model && !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// A view is one dimension as one judge and the raters saw it.
type view struct {
	items  []string
	raters []string
	human  map[string]map[string]float64 // by item and rater: the mean over the orders that the rater saw
	judge  map[string][2]*float64        // by item: in the order ab, and ba
	silent map[string][2]bool            // the judge abstained
}

func look(t Table, k key) view {
	v := view{human: map[string]map[string]float64{}, judge: map[string][2]*float64{}, silent: map[string][2]bool{}}
	type at struct{ item, rater string }
	scores := map[at][]float64{}
	known, knownRater := map[string]bool{}, map[string]bool{}
	for _, r := range t.Ratings {
		if r.Dimension != k.dimension || r.Kind == Model && r.Rater != k.judge {
			continue
		}
		if !known[r.Item] {
			known[r.Item] = true
			v.items = append(v.items, r.Item)
		}
		if r.Kind == Human {
			if !knownRater[r.Rater] {
				knownRater[r.Rater] = true
				v.raters = append(v.raters, r.Rater)
			}
			if r.Score != nil {
				scores[at{r.Item, r.Rater}] = append(scores[at{r.Item, r.Rater}], *r.Score)
			}
			continue
		}
		side := 0
		if r.Order == Swapped {
			side = 1
		}
		both, silent := v.judge[r.Item], v.silent[r.Item]
		both[side], silent[side] = r.Score, r.Abstain
		v.judge[r.Item], v.silent[r.Item] = both, silent
	}
	for a, xs := range scores {
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		if v.human[a.item] == nil {
			v.human[a.item] = map[string]float64{}
		}
		v.human[a.item][a.rater] = sum / float64(len(xs))
	}
	return v
}

// Admit decides of each dimension of each judge in a table. A table without a judge, or floors that no figure can be held against,
// are an error.
func Admit(t Table, f Floors, now time.Time) (Admission, error) {
	a := Admission{Schema: AdmissionSchema, Floors: f, Made: now.UTC()}
	switch {
	case f.Metric != stats.Ordinal && f.Metric != stats.IntervalScale:
		return a, fmt.Errorf("the metric is ordinal or interval, not %q", f.Metric)
	case !(f.Agreement > 0 && f.Agreement <= 1), !(f.Shift >= 0), math.IsInf(f.Shift, 0), !(f.Missing >= 0 && f.Missing < 1), f.Items < 2:
		return a, fmt.Errorf("floors are: agreement above 0 and no more than 1, shift 0 or more, missing from 0 to below 1, items 2 or more")
	case f.Resamples < 200 || f.Resamples > 1_000_000:
		return a, fmt.Errorf("an interval takes from 200 to 1000000 resamples, not %d", f.Resamples)
	}
	entry, err := t.Entry()
	if err != nil {
		return a, err
	}
	a.Ratings = entry.Hash
	all := judges(t)
	if len(all) == 0 {
		return a, fmt.Errorf("nobody in the table is a judge: no rating is of kind %s", Model)
	}
	for _, k := range all {
		a.Dimensions = append(a.Dimensions, decide(look(t, k), k, f))
	}
	return a, nil
}

func decide(v view, k key, f Floors) Dimension {
	d := Dimension{Judge: k.judge, Name: k.dimension, Cells: len(v.items)}
	for _, item := range v.items {
		open := false
		for side, score := range v.judge[item] {
			switch {
			case score != nil:
				d.Scored++
			case v.silent[item][side]:
				d.Abstained++
				open = true
			default:
				d.Missing++
				open = true
			}
		}
		if open {
			d.Review = append(d.Review, item)
		}
	}
	d.Reference = v.among(f)
	d.Agreement = v.between(f)
	d.Shift, d.Paired = v.shift(f)
	d.Reasons = reasons(d, len(v.raters), f)
	if d.Admitted = len(d.Reasons) == 0; !d.Admitted {
		d.Review = v.items
	}
	return d
}

// estimate computes a figure over n items, and its interval by drawing items anew: what one item's raters say hangs together.
func estimate(n int, f Floors, figure func(items []int) (float64, bool)) Estimate {
	var e Estimate
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	x, ok := figure(all)
	if !ok {
		return e
	}
	e.Value = &x
	if i, ok := stats.Bootstrap(n, f.Resamples, f.Seed, figure); ok {
		e.Interval = &i
	}
	return e
}

// agreement computes the figures of items: units are what alpha is computed of, by item, and pairs what kappa is, by item for each pair
// of raters.
func agreement(f Floors, units [][][]float64, pairs [][][][2]float64) Agreement {
	n := len(units)
	alpha := func(m stats.Metric) Estimate {
		var all [][]float64
		return estimate(n, f, func(items []int) (float64, bool) {
			all = all[:0]
			for _, i := range items {
				all = append(all, units[i]...)
			}
			return stats.Alpha(all, m)
		})
	}
	var all [][2]float64
	kappa := estimate(n, f, func(items []int) (float64, bool) {
		sum, of := 0.0, 0.0
		for _, pair := range pairs {
			all = all[:0]
			for _, i := range items {
				all = append(all, pair[i]...)
			}
			if k, ok := stats.QuadraticKappa(all); ok {
				sum, of = sum+k, of+1
			}
		}
		return sum / max(1, of), of > 0
	})
	return Agreement{Ordinal: alpha(stats.Ordinal), Interval: alpha(stats.IntervalScale), Kappa: kappa, Items: n}
}

// among is the agreement of the raters with each other: an item is a unit, a rater has one value in it.
func (v view) among(f Floors) Agreement {
	var units [][][]float64
	pairs := make([][][][2]float64, len(v.raters)*(len(v.raters)-1)/2)
	for _, item := range v.items {
		if len(v.human[item]) < 2 {
			continue
		}
		var unit []float64
		n := 0
		for i, r := range v.raters {
			x, ok := v.human[item][r]
			if ok {
				unit = append(unit, x)
			}
			for _, s := range v.raters[i+1:] {
				var both [][2]float64
				if y, also := v.human[item][s]; ok && also {
					both = [][2]float64{{x, y}}
				}
				pairs[n] = append(pairs[n], both)
				n++
			}
		}
		units = append(units, [][]float64{unit})
	}
	return agreement(f, units, pairs)
}

// between is the agreement of the judge with the raters. Each score of the judge's, in either order, with each rater's is a unit of two:
// only what lies between judge and people counts, however many people there are, and a judge that says something else in the
// other order disagrees with them in one of the two.
func (v view) between(f Floors) Agreement {
	var units [][][]float64
	pairs := make([][][][2]float64, len(v.raters))
	for _, item := range v.items {
		both := v.judge[item]
		if len(v.human[item]) == 0 || both[0] == nil && both[1] == nil {
			continue
		}
		var of [][]float64
		for n, r := range v.raters {
			var with [][2]float64
			for _, score := range both {
				if x, ok := v.human[item][r]; ok && score != nil {
					of, with = append(of, []float64{*score, x}), append(with, [2]float64{*score, x})
				}
			}
			pairs[n] = append(pairs[n], with)
		}
		units = append(units, of)
	}
	return agreement(f, units, pairs)
}

// shift is how far the mean moves from one order to the other, over items that were scored in both.
func (v view) shift(f Floors) (Estimate, int) {
	var moved []float64
	for _, item := range v.items {
		if both := v.judge[item]; both[0] != nil && both[1] != nil {
			moved = append(moved, *both[1]-*both[0])
		}
	}
	return estimate(len(moved), f, func(items []int) (float64, bool) {
		sum := 0.0
		for _, i := range items {
			sum += moved[i]
		}
		return sum / max(1, float64(len(items))), len(items) > 0
	}), len(moved)
}

// reasons are all that keeps a dimension out. What a figure falls short of is said once: an interval that does not support a
// floor counts where the figure itself reaches it.
func reasons(d Dimension, raters int, f Floors) []Reason {
	var out []Reason
	add := func(code, format string, args ...any) { out = append(out, Reason{code, fmt.Sprintf(format, args...)}) }
	reference, agreement := d.Reference.By(f.Metric), d.Agreement.By(f.Metric)
	if n := min(d.Agreement.Items, d.Paired); n < f.Items {
		add(FewItems, "judge and raters have both scored %d items, in both orders %d; at least %d are wanted", d.Agreement.Items, d.Paired, f.Items)
	}
	if owed := 2 * d.Cells; float64(d.Missing) > f.Missing*float64(owed) {
		add(MissingCells, "%d of the %d scores that the judge owes are missing; no more than %.0f %% may be", d.Missing, owed, 100*f.Missing)
	}
	switch {
	case raters < 2:
		add(NoReference, "there are %d reference raters: it takes two to know what people agree on", raters)
	case reference.Value == nil:
		add(NoReference, "the reference raters have nothing that they could agree or disagree on: their scores are all the same, or no item has two")
	case *reference.Value < f.Agreement:
		add(WeakReference, "the reference raters agree with each other by %.2f, below the floor of %.2f: there is nothing there to agree with", *reference.Value, f.Agreement)
	}
	among := "not known"
	if reference.Value != nil {
		among = fmt.Sprintf("%.2f", *reference.Value)
	}
	switch {
	case agreement.Value == nil:
		add(AgreementUnknown, "agreement between judge and raters cannot be computed: all scores are the same, or no item has both")
	case *agreement.Value < f.Agreement:
		add(WeakAgreement, "judge and raters agree by %.2f%s, below the floor of %.2f; the raters with each other by %s", *agreement.Value, between(agreement), f.Agreement, among)
	case agreement.Interval == nil || agreement.Interval.Low < f.Agreement:
		add(UncertainAgree, "judge and raters agree by %.2f, and the interval%s does not support the floor of %.2f", *agreement.Value, between(agreement), f.Agreement)
	}
	switch {
	case d.Shift.Value == nil:
		add(OrderNotCompared, "no item has a score of the judge's in both orders")
	case math.Abs(*d.Shift.Value) > f.Shift:
		add(OrderMatters, "to swap the order moves the mean by %+.2f%s, more than %.2f", *d.Shift.Value, between(d.Shift), f.Shift)
	case d.Shift.Interval == nil || d.Shift.Interval.Low < -f.Shift || d.Shift.Interval.High > f.Shift:
		add(OrderMayMatter, "to swap the order moves the mean by %+.2f, and the interval%s does not support that it is no more than %.2f", *d.Shift.Value, between(d.Shift), f.Shift)
	}
	return out
}

// between shows an interval.
func between(e Estimate) string {
	if e.Interval == nil {
		return " (no interval)"
	}
	return fmt.Sprintf(" (%.2f to %.2f)", e.Interval.Low, e.Interval.High)
}
