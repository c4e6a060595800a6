package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// darwin are the differences in height, in eighths of an inch, of crossed and self-fertilized maize (Darwin, The Effects of
// Cross and Self Fertilisation in the Vegetable Kingdom, 1876; Fisher, The Design of Experiments, 1935, chapter III).
var darwin = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func near(got, want, within float64) bool { return math.Abs(got-want) <= within }

// TestSignTest checks values of R 4.2.2, binom.test(x, n)$p.value.
func TestSignTest(t *testing.T) {
	for _, tt := range []struct {
		more, less int
		want       float64
	}{
		{1, 8, 0.0390625}, {3, 12, 0.03515625}, {15, 5, 0.04138946533}, {2, 2, 1}, {0, 0, 1}, {0, 5, 0.0625},
	} {
		if got, err := SignTest(tt.more, tt.less); err != nil || !near(got, tt.want, 1e-9) {
			t.Errorf("%d and %d: %v, %v; R has %v", tt.more, tt.less, got, err, tt.want)
		}
		if got, err := SignTest(tt.less, tt.more); err != nil || !near(got, tt.want, 1e-9) {
			t.Errorf("%d and %d: %v, %v; R has %v", tt.less, tt.more, got, err, tt.want)
		}
	}
	if _, err := SignTest(-1, 2); err == nil {
		t.Error("a negative count has a p")
	}
}

// TestMcNemar checks the approval ratings of a prime minister (Agresti, Categorical Data Analysis, 1990, section 10.1: 150 and 86
// changed their mind); the exact p is that of R 4.2.2, binom.test(86, 236)$p.value.
func TestMcNemar(t *testing.T) {
	if got, err := McNemar(150, 86); err != nil || !near(got, 3.71593614e-05, 1e-12) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPermutation checks Fisher's own count over Darwin's maize, 863 of 32768 ways on one side (The Design of Experiments,
// section 21), and rewards with ties whose count R 4.2.2 gives by enumeration.
func TestPermutation(t *testing.T) {
	if p, exact := Permutation(darwin, 0, 0); !exact || !near(p, 2*863.0/32768, 1e-12) {
		t.Errorf("Darwin's maize: %v, exact %v", p, exact)
	}
	if p, exact := Permutation([]float64{0.5, 0.5, -0.15, 0.15, 0.35, 0, 0.5}, 0, 0); !exact || !near(p, 6.0/64, 1e-12) {
		t.Errorf("rewards: %v, exact %v", p, exact)
	}
	if p, exact := Permutation([]float64{0, 0}, 0, 0); !exact || p != 1 {
		t.Errorf("no difference: %v, exact %v", p, exact)
	}
	// Twice Darwin's differences are too many to try all. They are whole numbers, so that the sums can be counted another way.
	twice := append(append([]float64{}, darwin...), darwin...)
	p, exact := Permutation(twice, 200_000, 5)
	if again, _ := Permutation(twice, 200_000, 5); exact || again != p {
		t.Errorf("the same seed gives %v and %v, exact %v", p, again, exact)
	}
	ways := map[float64]float64{0: 1}
	for _, x := range twice {
		next := map[float64]float64{}
		for sum, n := range ways {
			next[sum+x] += n / 2
			next[sum-x] += n / 2
		}
		ways = next
	}
	want := 0.0
	for sum, share := range ways {
		if math.Abs(sum) >= 2*314 {
			want += share
		}
	}
	if !near(p, want, 0.001) {
		t.Errorf("estimated %v, counted %v", p, want)
	}
}

// TestPermutationHoldsItsLevel draws where there is no difference: p is at most 0.05 in about 5 % of draws, and never in more.
func TestPermutationHoldsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 2000
	hits := 0
	for range draws {
		d := make([]float64, 9)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		if p, _ := Permutation(d, 0, 0); p <= 0.05 {
			hits++
		}
	}
	if share := float64(hits) / draws; share < 0.035 || share > 0.062 {
		t.Errorf("p is at most 0.05 in %v of draws without a difference", share)
	}
}

func TestPermutationProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 8).Draw(t, "d")
		p, exact := Permutation(d, 0, 0)
		other := make([]float64, len(d))
		n := 0
		for i := range d {
			other[i] = -3 * d[i]
			if d[i] != 0 {
				n++
			}
		}
		q, _ := Permutation(other, 0, 0)
		if !exact || p <= 0 || p > 1 || !near(p, q, 1e-12) || p < LeastP(n)-1e-12 {
			t.Fatalf("%v: p %v, turned round %v, least %v", d, p, q, LeastP(n))
		}
	})
}
