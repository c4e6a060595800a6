package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// BCa is the bootstrap interval that is corrected for bias and acceleration (Efron 1987), at a level such as 0.95, of a figure over n
// things: of clusters where observations come in clusters. The figure must have a value for every draw. The same seed gives the
// same interval. ok is false where there is nothing to resample, or where every draw gives the same.
func BCa(n, resamples int, level float64, seed uint64, figure func(drawn []int) float64) (i Interval, ok bool) {
	if n < 2 || resamples < 40 || level <= 0 || level >= 1 {
		return Interval{}, false
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	drawn := make([]int, n)
	for k := range drawn {
		drawn[k] = k
	}
	seen := figure(drawn)
	values := make([]float64, resamples)
	below := 0.0
	for r := range values {
		for k := range drawn {
			drawn[k] = rng.IntN(n)
		}
		values[r] = figure(drawn)
		switch tie := 1e-9 * math.Abs(seen); {
		case values[r] < seen-tie:
			below++
		case values[r] <= seen+tie: // of few values many draws give this very one: half of them lie below
			below += 0.5
		}
	}
	slices.SortFunc(values, cmp.Compare[float64])
	if values[0] == values[resamples-1] {
		return Interval{}, false
	}
	bias := NormalQuantile(min(max(below, 0.5), float64(resamples)-0.5) / float64(resamples))
	accel := acceleration(n, figure)
	at := func(p float64) float64 {
		z := bias + NormalQuantile(p)
		return quantile(values, normal(bias+z/(1-accel*z)))
	}
	return Interval{at((1 - level) / 2), at((1 + level) / 2)}, true
}

// acceleration is how fast the spread of a figure grows with it, by leaving out one thing at a time.
func acceleration(n int, figure func([]int) float64) float64 {
	left := make([]float64, n)
	kept := make([]int, 0, n-1)
	for i := range left {
		kept = kept[:0]
		for k := range n {
			if k != i {
				kept = append(kept, k)
			}
		}
		left[i] = figure(kept)
	}
	mean := Mean(left)
	var squares, cubes float64
	for _, x := range left {
		squares += (mean - x) * (mean - x)
		cubes += (mean - x) * (mean - x) * (mean - x)
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// quantile is the p-quantile of sorted values, between two of them where it falls there.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	low := min(max(int(at), 0), len(sorted)-1)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// normal is the distribution function of the normal distribution.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// NormalQuantile is the p-quantile of the normal distribution.
func NormalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
