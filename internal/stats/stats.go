// Package stats holds the statistics behind what is reported: intervals and tests, pure functions of counts. Each is checked
// against published examples, which its test names.
package stats

import (
	"fmt"
	"math"
)

// An Interval is the bounds of a rate or of another figure, both included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Width is how far its bounds are apart.
func (i Interval) Width() float64 { return i.High - i.Low }

// Z95 is the quantile of the normal distribution that leaves 2.5 % above it.
const Z95 = 1.959963984540054

// Wilson is the score interval of k successes of n, at about 95 %, without a correction for continuity. k and n need not be
// whole: where observations come in clusters, n is the number of clusters and k the rate times n. Of no observations
// the interval is everything.
func Wilson(k, n float64) (Interval, error) {
	if n < 0 || k < 0 || k > n || math.IsNaN(k) || math.IsNaN(n) || math.IsInf(n, 0) {
		return Interval{}, fmt.Errorf("an interval of %v of %v: there is none", k, n)
	}
	if n == 0 {
		return Interval{0, 1}, nil
	}
	const z = Z95
	p := k / n
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	i := Interval{max(0, (middle-half)/scale), min(1, (middle+half)/scale)}
	if k == 0 { // exactly, and not what rounding left of it
		i.Low = 0
	}
	if k == n {
		i.High = 1
	}
	return i, nil
}

// Digits is how many digits after the point a rate with that interval supports: the interval is no wider than one step of
// the last of them. 0 means that not even tenths can be told apart.
func Digits(i Interval) int {
	const most = 6
	d := 0
	for step := 0.1; d < most && i.Width() <= step; step /= 10 {
		d++
	}
	return d
}

// Fisher is the two-sided p of Fisher's exact test on the table
//
//	a b
//	c d
//
// the sum of the probabilities of all tables with these margins that are no more likely than this one.
func Fisher(a, b, c, d int) (float64, error) {
	if a < 0 || b < 0 || c < 0 || d < 0 {
		return 0, fmt.Errorf("a table of %d, %d, %d, %d: counts are not negative", a, b, c, d)
	}
	row, col, n := a+b, a+c, a+b+c+d
	at := func(x int) float64 {
		return choose(row, x) + choose(n-row, col-x) - choose(n, col)
	}
	seen := at(a)
	sum := 0.0
	for x := max(0, col-(n-row)); x <= min(row, col); x++ {
		if p := at(x); p <= seen+1e-7 { // a table as likely as this one, rounding aside
			sum += math.Exp(p)
		}
	}
	return min(1, sum), nil
}

// choose is the logarithm of n over k.
func choose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}
