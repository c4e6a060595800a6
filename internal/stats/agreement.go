package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A Metric says how far two values are apart.
type Metric string

const (
	Nominal       Metric = "nominal"  // equal or not
	Ordinal       Metric = "ordinal"  // by how many values lie between them
	IntervalScale Metric = "interval" // by their difference
)

// Alpha is Krippendorff's alpha: 1 where the values of each unit agree, 0 where they agree no better than values drawn from all of them.
// A unit with fewer than two values says nothing and is left out. ok is false where there is nothing to agree on: no unit is
// left, or all values are one.
func Alpha(units [][]float64, m Metric) (alpha float64, ok bool) {
	var paired [][]float64
	n := 0
	for _, u := range units {
		if len(u) > 1 {
			paired = append(paired, u)
			n += len(u)
		}
	}
	if n == 0 {
		return 0, false
	}
	if m == Nominal {
		return nominal(paired, n)
	}
	if m == Ordinal {
		paired = midranks(paired, n)
	}
	// With squared differences, the sums over pairs are sums of squares: 2(kΣx² - (Σx)²) over all pairs of k values.
	spread := func(k, sum, squares float64) float64 { return max(0, 2*(k*squares-sum*sum)) }
	// Differences do not move with the origin; near the mean they lose no digits.
	mean := 0.0
	for _, u := range paired {
		for _, x := range u {
			mean += x / float64(n)
		}
	}
	var observed, sum, squares float64
	for _, u := range paired {
		var s, q float64
		for _, x := range u {
			x -= mean
			s, q = s+x, q+x*x
		}
		observed += spread(float64(len(u)), s, q) / float64(len(u)-1)
		sum, squares = sum+s, squares+q
	}
	expected := spread(float64(n), sum, squares) / float64(n-1)
	if expected <= 1e-12*squares || squares == 0 {
		return 0, false
	}
	return 1 - observed/expected, true
}

func nominal(units [][]float64, n int) (float64, bool) {
	all := map[float64]float64{}
	observed := 0.0
	for _, u := range units {
		here := map[float64]float64{}
		for _, x := range u {
			here[x]++
			all[x]++
		}
		k := float64(len(u))
		differ := k * k
		for _, c := range here {
			differ -= c * c
		}
		observed += differ / (k - 1)
	}
	differ := float64(n) * float64(n)
	for _, c := range all {
		differ -= c * c
	}
	if differ == 0 {
		return 0, false
	}
	return 1 - observed*float64(n-1)/differ, true
}

// midranks puts in the place of each value the middle of the ranks that it has among all of them: the ordinal metric of
// Krippendorff is the difference of these.
func midranks(units [][]float64, n int) [][]float64 {
	all := make([]float64, 0, n)
	for _, u := range units {
		all = append(all, u...)
	}
	slices.Sort(all)
	rank := make(map[float64]float64, len(all))
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		rank[all[i]] = float64(i+j-1) / 2
		i = j
	}
	out := make([][]float64, len(units))
	for i, u := range units {
		out[i] = make([]float64, len(u))
		for k, x := range u {
			out[i][k] = rank[x]
		}
	}
	return out
}

// QuadraticKappa is Cohen's weighted kappa of pairs of scores, where a disagreement weighs as the square of the difference. ok is false
// where there is nothing to agree on.
func QuadraticKappa(pairs [][2]float64) (kappa float64, ok bool) {
	n := float64(len(pairs))
	var a, b, aa, bb, apart float64
	for _, p := range pairs {
		a, b = a+p[0]/n, b+p[1]/n
	}
	for _, p := range pairs {
		aa, bb = aa+(p[0]-a)*(p[0]-a)/n, bb+(p[1]-b)*(p[1]-b)/n
		apart += (p[0] - p[1]) * (p[0] - p[1]) / n
	}
	expected := aa + bb + (a-b)*(a-b) // the mean square of the difference, were the two independent
	if len(pairs) == 0 || expected == 0 {
		return 0, false
	}
	return 1 - apart/expected, true
}

// Bootstrap is the percentile interval, at 95 %, of a figure over n things that are drawn anew, with replacement, resamples times. The
// same seed gives the same interval. figure is handed the numbers of the things that were drawn, and says ok where it has a value;
// where it has none so often that a bound is not known, Bootstrap is not ok either.
func Bootstrap(n, resamples int, seed uint64, figure func(drawn []int) (float64, bool)) (i Interval, ok bool) {
	if n < 1 || resamples < 40 {
		return Interval{}, false
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	values := make([]float64, 0, resamples)
	drawn := make([]int, n)
	for range resamples {
		for k := range drawn {
			drawn[k] = rng.IntN(n)
		}
		if v, ok := figure(drawn); ok && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.SortFunc(values, cmp.Compare[float64])
	unknown := resamples - len(values)
	tail := int(0.025 * float64(resamples))
	// What has no value could have lain on either side.
	low, high := tail-unknown, resamples-1-tail
	if low < 0 || high >= len(values) {
		return Interval{}, false
	}
	return Interval{values[low], values[high]}, true
}
