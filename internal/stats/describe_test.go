package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// spatial is test A of table 14.1 of Efron and Tibshirani, An Introduction to the Bootstrap, 1993: 26 children.
var spatial = []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}

// TestDescribe checks values of R 4.2.2: mean, median, sd.
func TestDescribe(t *testing.T) {
	d := Describe(spatial)
	if d.N != 26 || !near(d.Mean, 771.0/26, 1e-12) || d.Median != 31 || d.SD == nil || !near(*d.SD, 13.35647351, 1e-8) || d.Min != 0 || d.Max != 48 {
		t.Errorf("%+v, deviation %v", d, *d.SD)
	}
	if one := Describe([]float64{0.5}); one.SD != nil || one.Mean != 0.5 || one.Median != 0.5 || one.Min != 0.5 || one.Max != 0.5 {
		t.Errorf("one number: %+v", one)
	}
	if none := Describe(nil); none != (Description{}) {
		t.Errorf("no number: %+v", none)
	}
	if odd := Describe([]float64{3, 1, 2}); odd.Median != 2 {
		t.Errorf("the median of three: %v", odd.Median)
	}
}

// TestPassAtK checks the formula of Chen et al., Evaluating Large Language Models Trained on Code (arXiv 2107.03374), figure 3, by
// numbers worked by hand, and that of Yao et al., τ-bench (arXiv 2406.12045), section 4.
func TestPassAtK(t *testing.T) {
	for _, tt := range []struct {
		n, c, k  int
		at, hat  float64
		mistaken bool
	}{
		{n: 5, c: 2, k: 1, at: 0.4, hat: 0.4},
		{n: 5, c: 2, k: 2, at: 1 - 3.0/10, hat: 1.0 / 10},
		{n: 5, c: 2, k: 4, at: 1, hat: 0},
		{n: 5, c: 5, k: 5, at: 1, hat: 1},
		{n: 5, c: 0, k: 5, at: 0, hat: 0},
		{n: 200, c: 10, k: 100, at: 1 - 0.0007710, hat: 0},
		{n: 5, c: 2, k: 6, mistaken: true}, {n: 5, c: 6, k: 1, mistaken: true}, {n: 5, c: 2, k: 0, mistaken: true}, {n: 0, c: 0, k: 1, mistaken: true},
	} {
		at, err := PassAtK(tt.n, tt.c, tt.k)
		hat, err2 := PassHatK(tt.n, tt.c, tt.k)
		if (err != nil) != tt.mistaken || (err2 != nil) != tt.mistaken {
			t.Errorf("%+v: %v, %v", tt, err, err2)
		}
		if !tt.mistaken && (!near(at, tt.at, 1e-6) || !near(hat, tt.hat, 1e-12)) {
			t.Errorf("%+v: pass@k %v, pass^k %v", tt, at, hat)
		}
	}
}

// TestPassHasNoBias adds up the estimates over all that n attempts with a chance of p can give: 1-(1-p)^k and p^k.
func TestPassHasNoBias(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		var at, hat float64
		for c := range n + 1 {
			weight := math.Exp(choose(n, c)) * math.Pow(p, float64(c)) * math.Pow(1-p, float64(n-c))
			a, err := PassAtK(n, c, k)
			h, err2 := PassHatK(n, c, k)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			at, hat = at+weight*a, hat+weight*h
		}
		if !near(at, 1-math.Pow(1-p, float64(k)), 1e-9) || !near(hat, math.Pow(p, float64(k)), 1e-9) {
			t.Fatalf("n %d, k %d, p %v: on average %v and %v", n, k, p, at, hat)
		}
	})
}
