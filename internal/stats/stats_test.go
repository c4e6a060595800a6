package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestWilson checks the examples of Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven
// methods", Statistics in Medicine 17 (1998) 857-872, table I, method 3.
func TestWilson(t *testing.T) {
	for _, tt := range []struct{ k, n, low, high float64 }{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0.0000, 0.1611},
		{1, 29, 0.0061, 0.1718},
	} {
		got, err := Wilson(tt.k, tt.n)
		if err != nil || math.Abs(got.Low-tt.low) > 5e-5 || math.Abs(got.High-tt.high) > 5e-5 {
			t.Errorf("%v of %v: %v, %v; published are %v to %v", tt.k, tt.n, got, err, tt.low, tt.high)
		}
	}
	if got, err := Wilson(0, 0); err != nil || got != (Interval{0, 1}) {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	for _, bad := range [][2]float64{{2, 1}, {-1, 3}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if got, err := Wilson(bad[0], bad[1]); err == nil {
			t.Errorf("%v of %v: %v", bad[0], bad[1], got)
		}
	}
}

func TestWilsonHoldsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		i, err := Wilson(float64(k), float64(n))
		other, err2 := Wilson(float64(n-k), float64(n))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if p := float64(k) / float64(n); i.Low > p || i.High < p || i.Low < 0 || i.High > 1 {
			t.Fatalf("%d of %d: %v", k, n, i)
		}
		if math.Abs(i.Low-(1-other.High)) > 1e-9 || math.Abs(i.High-(1-other.Low)) > 1e-9 {
			t.Fatalf("%d of %d: %v is not the mirror of %v", k, n, i, other)
		}
	})
}

func TestDigits(t *testing.T) {
	for _, tt := range []struct {
		k, n float64
		want int
	}{
		{4, 6, 0}, {6, 6, 0}, {24, 24, 0}, {36, 36, 1}, {4000, 6000, 1}, {400000, 600000, 2},
	} {
		i, err := Wilson(tt.k, tt.n)
		if err != nil {
			t.Fatal(err)
		}
		if got := Digits(i); got != tt.want {
			t.Errorf("%v of %v, %v: %d digits, want %d", tt.k, tt.n, i, got, tt.want)
		}
	}
}

// TestFisher checks the lady who tasted tea (Fisher, The Design of Experiments, 1935, chapter II: 17 of 70 tables are as
// extreme on one side, so 34 of 70 on both), and the convictions of twins (Fisher, Statistical Methods for Research Workers;
// in the help page of R's fisher.test), two-sided p 0.0005367.
func TestFisher(t *testing.T) {
	for _, tt := range []struct {
		a, b, c, d int
		want       float64
	}{
		{3, 1, 1, 3, 34.0 / 70},
		{2, 10, 15, 3, 0.0005367},
		{5, 0, 5, 0, 1},
		{0, 0, 0, 0, 1},
	} {
		got, err := Fisher(tt.a, tt.b, tt.c, tt.d)
		if err != nil || math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%d %d / %d %d: %v, %v; published is %v", tt.a, tt.b, tt.c, tt.d, got, err, tt.want)
		}
	}
	if _, err := Fisher(-1, 2, 3, 4); err == nil {
		t.Error("a negative count has a p")
	}
}
