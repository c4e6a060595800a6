package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var none = math.NaN()

// columns turns a rater's row each into a unit each, without what was not rated.
func columns(rows ...[]float64) [][]float64 {
	units := make([][]float64, len(rows[0]))
	for _, row := range rows {
		for i, x := range row {
			if !math.IsNaN(x) {
				units[i] = append(units[i], x)
			}
		}
	}
	return units
}

// TestAlpha checks two published examples: Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2007, revised 2011), part C and what
// follows, four observers and twelve units with missing data; and the three coders and fifteen units of the article "Krippendorff's
// alpha" in Wikipedia.
func TestAlpha(t *testing.T) {
	krippendorff := columns(
		[]float64{1, 2, 3, 3, 2, 1, 4, 1, 2, none, none, none},
		[]float64{1, 2, 3, 3, 2, 2, 4, 1, 2, 5, none, 3},
		[]float64{none, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, none},
		[]float64{1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, none},
	)
	wikipedia := columns(
		[]float64{none, none, none, none, none, 3, 4, 1, 2, 1, 1, 3, 3, none, 3},
		[]float64{1, none, 2, 1, 3, 3, 4, 3, none, none, none, none, none, none, none},
		[]float64{none, none, 2, 1, 3, 4, 4, none, 2, 1, 1, 3, 3, none, 4},
	)
	for _, tt := range []struct {
		name  string
		units [][]float64
		m     Metric
		want  float64
	}{
		{"Krippendorff", krippendorff, Nominal, 0.743},
		{"Krippendorff", krippendorff, Ordinal, 0.815},
		{"Krippendorff", krippendorff, IntervalScale, 0.849},
		{"Wikipedia", wikipedia, Nominal, 0.691},
		{"Wikipedia", wikipedia, IntervalScale, 0.811},
	} {
		if got, ok := Alpha(tt.units, tt.m); !ok || math.Abs(got-tt.want) > 5e-4 {
			t.Errorf("%s, %s: %.4f, %v; published is %.3f", tt.name, tt.m, got, ok, tt.want)
		}
	}
	for _, units := range [][][]float64{nil, {{1}, {2}}, {{3, 3}, {3, 3}}, {{0.1, 0.1}, {0.1, 0.1, 0.1}}} {
		for _, m := range []Metric{Nominal, Ordinal, IntervalScale} {
			if got, ok := Alpha(units, m); ok {
				t.Errorf("%v, %s: %v, where there is nothing to agree on", units, m, got)
			}
		}
	}
}

// alphaByHand is the definition: coincidences of values, and a metric between them.
func alphaByHand(units [][]float64, ordinal bool) float64 {
	count, n := map[float64]float64{}, 0.0
	for _, u := range units {
		for _, x := range u {
			count[x]++
			n++
		}
	}
	apart := func(c, k float64) float64 {
		if !ordinal || c == k {
			return (c - k) * (c - k)
		}
		between := 0.0
		for g, n := range count {
			if g >= min(c, k) && g <= max(c, k) {
				between += n
			}
		}
		between -= (count[c] + count[k]) / 2
		return between * between
	}
	var observed, expected float64
	for _, u := range units {
		for i := range u {
			for j := range u {
				if i != j {
					observed += apart(u[i], u[j]) / float64(len(u)-1)
				}
			}
		}
	}
	for c, nc := range count {
		for k, nk := range count {
			expected += nc * nk * apart(c, k)
		}
	}
	return 1 - (observed/n)/(expected/(n*(n-1)))
}

func TestAlphaIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SliceOfN(rapid.Map(rapid.IntRange(-3, 4), func(i int) float64 { return float64(i) / 2 }), 2, 5), 2, 12).Draw(t, "units")
		for m, ordinal := range map[Metric]bool{Ordinal: true, IntervalScale: false} {
			got, ok := Alpha(units, m)
			want := alphaByHand(units, ordinal)
			if ok && math.Abs(got-want) > 1e-9 || !ok && !math.IsNaN(want) && !math.IsInf(want, 0) {
				t.Fatalf("%s: %v, %v; by its definition %v", m, got, ok, want)
			}
		}
	})
}

// TestQuadraticKappa checks the figure that scikit-learn's own test has for cohen_kappa_score with quadratic weights, on 46, 44 and 10
// labels against 50, 40 and 10; and that kappa is 1 for agreement, 0 for independence and -1 for opposites.
func TestQuadraticKappa(t *testing.T) {
	label := func(counts ...int) (out []float64) {
		for i, n := range counts {
			for range n {
				out = append(out, float64(i))
			}
		}
		return out
	}
	pair := func(a, b []float64) (out [][2]float64) {
		for i := range a {
			out = append(out, [2]float64{a[i], b[i]})
		}
		return out
	}
	for _, tt := range []struct {
		pairs [][2]float64
		want  float64
	}{
		{pair(label(46, 44, 10), label(50, 40, 10)), 0.9541},
		{[][2]float64{{1, 1}, {2, 2}}, 1},
		{[][2]float64{{1, 1}, {1, 2}, {2, 1}, {2, 2}}, 0},
		{[][2]float64{{1, 2}, {2, 1}}, -1},
	} {
		if got, ok := QuadraticKappa(tt.pairs); !ok || math.Abs(got-tt.want) > 5e-5 {
			t.Errorf("%.5f, %v; want %.4f", got, ok, tt.want)
		}
	}
	if _, ok := QuadraticKappa([][2]float64{{2, 2}, {2, 2}}); ok {
		t.Error("there is an agreement where there is nothing to agree on")
	}
}

// TestBootstrapCovers draws samples of which the true figures are known, and counts how often the interval holds them: the mean
// of 39 numbers, and the ordinal alpha of three raters on 39 things, whose true value is that of very many things.
func TestBootstrapCovers(t *testing.T) {
	const samples, resamples, n = 200, 200, 39
	rng := rand.New(rand.NewPCG(7, 7))
	rated := func(noise float64) []float64 {
		quality := rng.NormFloat64() * 1.5
		out := make([]float64, 3)
		for i := range out {
			out[i] = math.Round(min(7, max(1, 4+quality+noise*rng.NormFloat64())))
		}
		return out
	}
	many := func(n int, noise float64) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = rated(noise)
		}
		return out
	}
	for _, noise := range []float64{0.8, 1.6} {
		truth, _ := Alpha(many(100_000, noise), Ordinal)
		alphas, means := 0, 0
		for s := range samples {
			units := many(n, noise)
			i, ok := Bootstrap(n, resamples, uint64(s), func(drawn []int) (float64, bool) {
				again := make([][]float64, n)
				for k, d := range drawn {
					again[k] = units[d]
				}
				return Alpha(again, Ordinal)
			})
			if ok && i.Low <= truth && truth <= i.High {
				alphas++
			}
			i, ok = Bootstrap(n, resamples, uint64(s), func(drawn []int) (float64, bool) {
				sum := 0.0
				for _, d := range drawn {
					sum += units[d][0] - units[d][1]
				}
				return sum / n, true
			})
			if ok && i.Low <= 0 && 0 <= i.High {
				means++
			}
		}
		t.Logf("alpha %.3f: held by %d, the mean by %d of %d intervals", truth, alphas, means, samples)
		for what, held := range map[string]int{"alpha": alphas, "mean": means} {
			if share := float64(held) / samples; share < 0.90 || share > 0.99 {
				t.Errorf("noise %v: %.3f of the intervals hold the %s; they should at about 0.95", noise, share, what)
			}
		}
	}
}

func TestBootstrapOfWhatHasNoValue(t *testing.T) {
	calls := 0
	if i, ok := Bootstrap(5, 1000, 1, func([]int) (float64, bool) { calls++; return 1, calls%10 != 0 }); ok {
		t.Errorf("a tenth of the values is unknown, and the interval is %v", i)
	}
	if i, ok := Bootstrap(5, 1000, 1, func([]int) (float64, bool) { calls++; return float64(calls), calls%100 != 0 }); !ok || i.Low >= i.High {
		t.Errorf("a hundredth is unknown: %v, %v", i, ok)
	}
	same := func() Interval {
		i, _ := Bootstrap(9, 200, 3, func(drawn []int) (float64, bool) { return float64(drawn[0] + drawn[4]), true })
		return i
	}
	if same() != same() {
		t.Error("the same seed gives another interval")
	}
}
