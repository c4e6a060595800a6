package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// SignTest is the exact two-sided p of as uneven a split as more and less, were each as likely; ties are left out before. With
// nothing to split it is 1.
func SignTest(more, less int) (float64, error) {
	if more < 0 || less < 0 {
		return 0, fmt.Errorf("a sign test of %d and %d: counts are not negative", more, less)
	}
	n, few := more+less, min(more, less)
	tail := 0.0
	for i := range few + 1 {
		tail += math.Exp(choose(n, i) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail), nil
}

// McNemar is the exact two-sided p of McNemar's test on pairs with two outcomes: first and second count the pairs in which only
// the one or the other succeeded. Pairs with equal outcomes say nothing of a difference.
func McNemar(first, second int) (float64, error) { return SignTest(first, second) }

// exactFlips bounds the differences whose signs are all tried: 2^20 sums.
const exactFlips = 20

// Permutation is the two-sided p of the paired permutation test: the share of all ways to give the differences their signs whose
// sum is as far from 0 as this one. With more than 20 differences that are not 0 it is estimated from flips of them, by the seed;
// exact says that it is not.
func Permutation(differences []float64, flips int, seed uint64) (p float64, exact bool) {
	var d []float64
	sum, size := 0.0, 0.0
	for _, x := range differences {
		if x != 0 {
			d = append(d, x)
			sum += x
			size += math.Abs(x)
		}
	}
	far := math.Abs(sum) - 1e-9*size // as far as this one, rounding aside
	if len(d) <= exactFlips {
		return flipped(d, far), true
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(d))))
	hits := 1 // the signs as they are
	for range flips {
		s := 0.0
		for i := 0; i < len(d); {
			for bits, k := rng.Uint64(), 0; k < 64 && i < len(d); k, i = k+1, i+1 {
				if bits>>k&1 == 0 {
					s += d[i]
				} else {
					s -= d[i]
				}
			}
		}
		if math.Abs(s) >= far {
			hits++
		}
	}
	return float64(hits) / float64(flips+1), false
}

// flipped is the share of all signs of d whose sum is at least so far from 0. From one to the next a single sign changes.
func flipped(d []float64, far float64) float64 {
	all := uint64(1) << len(d)
	positive := make([]bool, len(d))
	s := 0.0
	for _, x := range d {
		s -= x
	}
	hits := 0
	for n := uint64(1); ; n++ {
		if math.Abs(s) >= far {
			hits++
		}
		if n == all {
			return float64(hits) / float64(all)
		}
		i := 0 // the lowest bit that is set in n: Gray's order
		for n>>i&1 == 0 {
			i++
		}
		if positive[i] = !positive[i]; positive[i] {
			s += 2 * d[i]
		} else {
			s -= 2 * d[i]
		}
	}
}

// LeastP is the smallest p that a two-sided sign or permutation test over n pairs can give, whatever the differences: 2/2^n.
func LeastP(n int) float64 { return min(1, math.Exp2(float64(1-n))) }
