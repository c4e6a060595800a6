package experiment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tare"
)

// A drawn experiment has tasks of which each is passed with a chance of its own, by the second arm with that much more.
func drawnExperiment(rng *rand.Rand, tasks, trials int, more, lost float64) (Design, []Row) {
	d := Design{Run: "r", Trials: trials, Arms: []Arm{{Name: "one"}, {Name: "two"}}, Compare: [][2]int{{0, 1}}, Seed: rng.Int64(), draws: 200}
	var rows []Row
	for i := range tasks {
		task := fmt.Sprint(i)
		d.Tasks = append(d.Tasks, task)
		chance := rng.Float64() * (1 - more)
		for arm := range 2 {
			for trial := 1; trial <= trials; trial++ {
				r := Row{Arm: arm, Task: task, Trial: trial}
				reward, outcome := 0.0, tare.Fail
				if rng.Float64() < chance+float64(arm)*more {
					reward, outcome = 1, tare.Pass
				}
				r.Verdict = tare.Verdict{Outcome: outcome, Reward: &reward}
				if arm == 1 && reward == 0 && rng.Float64() < lost { // what is lost would all have failed
					r.Verdict = tare.Verdict{Outcome: tare.Unverified, Cause: tare.CauseInfrastructure, RewardBounds: [2]float64{0, 1}}
				}
				rows = append(rows, r)
			}
		}
	}
	return d, rows
}

// TestSimulated draws whole experiments and counts what is said of them: where there is no difference one is shown in at most about 5 of
// 100, also where the second arm's failures get lost; where there is a large one it is nearly always shown; and the intervals hold the truth.
func TestSimulated(t *testing.T) {
	const draws = 150
	for _, tt := range []struct {
		name                  string
		tasks                 int
		more, lost            float64
		shownLeast, shownMost float64
		held                  float64 // least share of intervals of the difference that hold the truth
	}{
		{"no difference", 14, 0, 0, 0, 0.085, 0.88},
		{"no difference, and failures get lost", 14, 0, 0.5, 0, 0.02, 0.88},
		{"no difference, of few", 7, 0, 0, 0, 0.085, 0.8},
		{"a large one", 14, 0.5, 0, 0.9, 1, 0.88},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, uint64(tt.tasks)))
			shown, held, rated := 0, 0, 0
			for range draws {
				d, rows := drawnExperiment(rng, tt.tasks, 3, tt.more, tt.lost)
				s, err := Summarize(d, rows)
				if err != nil {
					t.Fatal(err)
				}
				p := s.Pairs[0]
				if strings.Contains(p.Says, "chance alone would rarely make") {
					shown++
				}
				if p.Interval != nil && p.Interval.Low <= tt.more && tt.more <= p.Interval.High {
					held++
				}
				if i, mean := s.Arms[0].Pass.Interval, (1-tt.more)/2; i.Low <= mean && mean <= i.High {
					rated++
				}
			}
			if share := float64(shown) / draws; share < tt.shownLeast || share > tt.shownMost {
				t.Errorf("a difference is shown in %.3f of experiments", share)
			}
			if share := float64(held) / draws; share < tt.held {
				t.Errorf("the interval of the difference holds it in %.3f of experiments", share)
			}
			if share := float64(rated) / draws; share < 0.93 {
				t.Errorf("the interval of the rate holds it in %.3f of experiments", share)
			}
		})
	}
}
