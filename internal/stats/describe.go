package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Description sums up numbers. Of none of them only N is meant.
type Description struct {
	N      int      `json:"n"`
	Mean   float64  `json:"mean"`
	Median float64  `json:"median"` // of an even number, the mean of the two in the middle
	SD     *float64 `json:"sd"`     // of a sample, with n-1; nil of fewer than two, which say nothing of it
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
}

// Describe sums up xs.
func Describe(xs []float64) Description {
	d := Description{N: len(xs)}
	if d.N == 0 {
		return d
	}
	sorted := slices.Sorted(slices.Values(xs))
	d.Min, d.Max = sorted[0], sorted[d.N-1]
	d.Median = (sorted[(d.N-1)/2] + sorted[d.N/2]) / 2
	d.Mean = Mean(xs)
	if d.N > 1 {
		squares := 0.0
		for _, x := range xs {
			squares += (x - d.Mean) * (x - d.Mean)
		}
		sd := math.Sqrt(squares / float64(d.N-1))
		d.SD = &sd
	}
	return d
}

// Mean is the mean of xs, which are not none.
func Mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// PassAtK estimates the chance that at least one of k attempts at a task succeeds, of which c of n did: 1 - C(n-c,k)/C(n,k),
// the share of the sets of k of these n that hold a success. It has no bias, for k up to n.
func PassAtK(n, c, k int) (float64, error) {
	none, err := drawn(n, n-c, k)
	return 1 - none, err
}

// PassHatK estimates the chance that k attempts at a task all succeed, of which c of n did: C(c,k)/C(n,k), the share of the
// sets of k of these n that hold nothing else. It has no bias, for k up to n; (c/n)^k has.
func PassHatK(n, c, k int) (float64, error) { return drawn(n, c, k) }

// drawn is the share of the sets of k of n things that are all among m of them.
func drawn(n, m, k int) (float64, error) {
	if m < 0 || m > n || k < 1 || k > n {
		return 0, fmt.Errorf("%d of %d attempts, %d at a time: nothing can be said", m, n, k)
	}
	share := 1.0
	for i := range k {
		share *= float64(max(0, m-i)) / float64(n-i)
	}
	return share, nil
}
