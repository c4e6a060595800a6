package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func meanOf(xs []float64) func([]int) float64 {
	return func(drawn []int) float64 {
		sum := 0.0
		for _, i := range drawn {
			sum += xs[i]
		}
		return sum / float64(len(drawn))
	}
}

// TestBCa checks the variance of the spatial test data, 90 % (115.8, 259.6) in table 14.2 of Efron and Tibshirani, An Introduction
// to the Bootstrap, 1993, by 2000 resamples, and (115.9, 261.5) by 100000 of R's boot.ci; and the mean of Darwin's maize,
// 95 % (-1.73, 36.13) by the same.
func TestBCa(t *testing.T) {
	variance := func(drawn []int) float64 {
		mean, sum := meanOf(spatial)(drawn), 0.0
		for _, i := range drawn {
			sum += (spatial[i] - mean) * (spatial[i] - mean)
		}
		return sum / float64(len(drawn))
	}
	got, ok := BCa(26, 20_000, 0.90, 1, variance)
	if !ok || !near(got.Low, 115.9, 2) || !near(got.High, 261.5, 3) {
		t.Errorf("spatial test: %v, %v", got, ok)
	}
	got, ok = BCa(15, 20_000, 0.95, 1, meanOf(darwin))
	if !ok || !near(got.Low, -1.73, 1) || !near(got.High, 36.13, 1) {
		t.Errorf("Darwin's maize: %v, %v", got, ok)
	}
	if again, _ := BCa(15, 20_000, 0.95, 1, meanOf(darwin)); again != got {
		t.Errorf("the same seed gives %v and %v", got, again)
	}
	// Many draws of these have the very mean 0: were they not halved, the interval would lean to one side.
	even := []float64{-1, 0, 0, 0, 0, 1}
	if i, ok := BCa(len(even), 20_000, 0.95, 1, meanOf(even)); !ok || !near(i.Low, -i.High, 0.05) || i.High < 0.3 {
		t.Errorf("an even sample: %v, %v", i, ok)
	}
	for _, same := range [][]float64{nil, {1}, {0.5, 0.5, 0.5}} {
		if i, ok := BCa(len(same), 1000, 0.95, 1, meanOf(same)); ok {
			t.Errorf("%v has an interval: %v", same, i)
		}
	}
}

// TestBootstrapOfMean checks the percentile interval of the same, 95 % (1.53, 38.13) by R's boot.ci.
func TestBootstrapOfMean(t *testing.T) {
	mean := meanOf(darwin)
	got, ok := Bootstrap(15, 20_000, 1, func(drawn []int) (float64, bool) { return mean(drawn), true })
	if !ok || !near(got.Low, 1.53, 1) || !near(got.High, 38.13, 1) {
		t.Errorf("%v, %v", got, ok)
	}
}

// TestCoverage draws tasks of which each has a mean of its own, and attempts at them, and counts how often intervals over tasks hold
// the true mean: less than they say with so few, and by how much is what reports warn of.
func TestCoverage(t *testing.T) {
	for _, tt := range []struct {
		name      string
		tasks     int
		low, high float64
	}{
		{"30 tasks", 30, 0.91, 0.97}, {"14 tasks", 14, 0.88, 0.96}, {"5 tasks", 5, 0.76, 0.92},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(tt.tasks)))
			const draws = 400
			bca, percentile := 0, 0
			for n := range draws {
				means := make([]float64, tt.tasks)
				for i := range means {
					task := 0.2 + 0.3*rng.NormFloat64()
					for range 5 {
						means[i] += (task + 0.2*rng.NormFloat64()) / 5
					}
				}
				mean := meanOf(means)
				if i, ok := BCa(tt.tasks, 400, 0.95, uint64(n), mean); ok && i.Low <= 0.2 && 0.2 <= i.High {
					bca++
				}
				if i, ok := Bootstrap(tt.tasks, 400, uint64(n), func(d []int) (float64, bool) { return mean(d), true }); ok && i.Low <= 0.2 && 0.2 <= i.High {
					percentile++
				}
			}
			for name, hits := range map[string]int{"BCa": bca, "percentile": percentile} {
				if share := float64(hits) / draws; share < tt.low || share > tt.high {
					t.Errorf("%s intervals hold the mean in %.3f of draws, want %v to %v", name, share, tt.low, tt.high)
				}
			}
		})
	}
}

// TestWilsonCovers adds up, over all counts, the chance of those whose interval holds the rate. Brown, Cai and DasGupta, Interval
// Estimation for a Binomial Proportion, Statistical Science 16 (2001), show it to swing about 0.95, and for n of 50 never far.
func TestWilsonCovers(t *testing.T) {
	const n = 50
	sum, least := 0.0, 1.0
	for step := 1; step < 100; step++ {
		p, covers := float64(step)/100, 0.0
		for k := range n + 1 {
			i, err := Wilson(float64(k), n)
			if err != nil {
				t.Fatal(err)
			}
			if i.Low <= p && p <= i.High {
				covers += math.Exp(choose(n, k)) * math.Pow(p, float64(k)) * math.Pow(1-p, n-float64(k))
			}
		}
		sum, least = sum+covers/99, min(least, covers)
	}
	if !near(sum, 0.95, 0.01) || least < 0.88 {
		t.Errorf("the intervals cover %.4f on average and %.4f at least", sum, least)
	}
}

// TestNormalQuantile checks values of R 4.2.2, qnorm.
func TestNormalQuantile(t *testing.T) {
	for p, want := range map[float64]float64{0.001: -3.0902323062, 0.3: -0.5244005127, 0.975: Z95, 0.5: 0} {
		if got := NormalQuantile(p); !near(got, want, 1e-9) || !near(normal(got), p, 1e-12) {
			t.Errorf("%v: %v, R has %v", p, got, want)
		}
	}
}
