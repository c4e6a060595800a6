// Package experiment compares arms, ways of playing the same tasks, by what became of their episodes: in which order these are
// played, when to stop early, and what the outcomes say and do not say. It plays nothing.
package experiment

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A Slot is one planned episode, by the numbers of its task and arm, and by its trial from 1.
type Slot struct{ Task, Trial, Arm int }

// Order is every arm on every task in every trial, in an order that is drawn by the seed: blocks of one task and trial, and within
// each the arms. What is played beside each other is compared with each other, and an experiment that ends early has played as
// much of one arm as of another.
func Order(tasks, trials, arms int, seed int64) []Slot {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x74617265))
	var out []Slot
	for _, block := range rng.Perm(tasks * trials) {
		for _, arm := range rng.Perm(arms) {
			out = append(out, Slot{Task: block / trials, Trial: block%trials + 1, Arm: arm})
		}
	}
	return out
}

// A Watch says when an experiment is to stop before its end. Its methods are not for several goroutines at once.
type Watch struct {
	LostShare float64       // of episodes, above which it stops
	After     int           // episodes, before which that is not asked
	Wall      time.Duration // 0: no bound
	Dollars   float64       // 0: no bound
	Now       func() time.Time

	began       time.Time
	ended, lost int
	spent       float64
}

// Begin is told when the first episode begins.
func (w *Watch) Begin() { w.began = w.Now() }

// Ended is told of every episode that ended, and says why the experiment stops; "" when it goes on. dollars is nil where it is not
// known what an episode cost.
func (w *Watch) Ended(lost bool, dollars *float64) string {
	w.ended++
	if lost {
		w.lost++
	}
	if dollars != nil {
		w.spent += *dollars
	}
	share := float64(w.lost) / float64(w.ended)
	switch {
	case w.LostShare > 0 && w.ended >= w.After && share > w.LostShare:
		return fmt.Sprintf("%d of %d episodes were lost to infrastructure, which is more than %.0f %%", w.lost, w.ended, 100*w.LostShare)
	case w.Dollars > 0 && dollars == nil:
		return "it is not known what an episode cost, so that the budget of dollars cannot be kept"
	case w.Dollars > 0 && w.spent >= w.Dollars:
		return fmt.Sprintf("the budget of $%v is used up: episodes cost $%.4f", w.Dollars, w.spent)
	case w.Wall > 0 && w.Now().Sub(w.began) >= w.Wall:
		return fmt.Sprintf("the budget of %v is used up", w.Wall)
	}
	return ""
}
