package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSmallestDifference checks values of R 4.2.2, power.t.test(n, power = , sd = , sig.level = , type = "paired",
// strict = TRUE)$delta.
func TestSmallestDifference(t *testing.T) {
	for _, tt := range []struct {
		sd           float64
		n            int
		alpha, power float64
		want         float64
	}{
		{1, 20, 0.05, 0.8, 0.6604409086},
		{0.3, 14, 0.01, 0.9, 0.356200777},
		{1, 5, 0.05, 0.8, 1.681998186},
		{1, 2, 0.05, 0.8, 11.54988844},
		{0, 10, 0.05, 0.8, 0},
	} {
		got, err := SmallestDifference(tt.sd, tt.n, tt.alpha, tt.power)
		if err != nil || !near(got, tt.want, 2e-4*max(1, tt.want)) {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
	}
	if _, err := SmallestDifference(1, 1, 0.05, 0.8); err == nil {
		t.Error("one difference shows something")
	}
}

// TestAbove checks values of R 4.2.2, pt(t, df, ncp, lower.tail = FALSE).
func TestAbove(t *testing.T) {
	for _, tt := range []struct{ t, df, shift, want float64 }{{2.1, 5, 1.3, 0.2808863409}, {0.5, 1, 0.7, 0.6148973703}} {
		if got := above(tt.t, tt.df, tt.shift); !near(got, tt.want, 1e-4) {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestSmallestDifferenceShows draws differences of that size and counts how often the test finds them.
func TestSmallestDifferenceShows(t *testing.T) {
	const n, draws = 14, 4000
	delta, err := SmallestDifference(1, n, 0.05, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	critical := bisect(0, 100, func(x float64) bool { return above(x, n-1, 0) <= 0.025 })
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range draws {
		d := make([]float64, n)
		for i := range d {
			d[i] = delta + rng.NormFloat64()
		}
		if s := Describe(d); math.Abs(s.Mean)/(*s.SD/math.Sqrt(n)) >= critical {
			found++
		}
	}
	if share := float64(found) / draws; !near(share, 0.8, 0.02) {
		t.Errorf("found in %v of draws", share)
	}
}
