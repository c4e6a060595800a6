package stats

import (
	"fmt"
	"math"
)

// SmallestDifference is the smallest true mean of n paired differences with that standard deviation that a two-sided paired t
// test at level alpha finds with that chance: what an experiment of this size could have shown. A difference below it may well
// be there and not show.
func SmallestDifference(sd float64, n int, alpha, power float64) (float64, error) {
	if n < 2 || sd < 0 || math.IsNaN(sd) || alpha <= 0 || alpha >= 1 || power <= alpha || power >= 1 {
		return 0, fmt.Errorf("%d differences with deviation %v, alpha %v, power %v: nothing can be said", n, sd, alpha, power)
	}
	df := float64(n - 1)
	critical := bisect(0, 1e4, func(t float64) bool { return above(t, df, 0) <= alpha/2 })
	shift := bisect(0, 1e5, func(delta float64) bool { return above(critical, df, delta)+above(critical, df, -delta) >= power })
	return shift * sd / math.Sqrt(float64(n)), nil
}

// bisect is the least x between low and high for which reached holds, from where on it does.
func bisect(low, high float64, reached func(float64) bool) float64 {
	for range 200 {
		if middle := (low + high) / 2; reached(middle) {
			high = middle
		} else {
			low = middle
		}
		if high-low <= 1e-10*(1+low) {
			break
		}
	}
	return high
}

// above is the chance that a noncentral t of that many degrees of freedom is above t: the mean, over the ratio s of the
// sample's deviation to the true one, of the chance that a normal variable is above t·s - shift. By Simpson's rule.
func above(t, df, shift float64) float64 {
	scale, _ := math.Lgamma(df / 2)
	scale = math.Ln2 + df/2*math.Log(df/2) - scale
	at := func(s float64) float64 {
		if s <= 0 {
			if df > 1 {
				return 0
			}
			return math.Exp(scale) * normal(shift)
		}
		return math.Exp(scale+(df-1)*math.Log(s)-df*s*s/2) * normal(shift-t*s)
	}
	const steps = 600
	wide := 12 / math.Sqrt(2*df)
	low, high := max(0, 1-wide), 1+wide
	h := (high - low) / steps
	sum := at(low) + at(high)
	for i := 1; i < steps; i++ {
		sum += float64(2+2*(i%2)) * at(low+float64(i)*h)
	}
	return sum * h / 3
}
