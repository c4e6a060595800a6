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
	LostShare float64       // of the episodes of all arms, or of one, above which it stops
	After     int           // episodes, of all arms or of that one, before which that is not asked
	Wall      time.Duration // 0: no bound
	Dollars   float64       // 0: no bound
	Arms      []string      // their names
	Now       func() time.Time

	began time.Time
	all   toll
	each  []toll
	spent float64
}

// A toll counts episodes.
type toll struct{ ended, lost int }

func (t *toll) add(lost bool) {
	t.ended++
	if lost {
		t.lost++
	}
}

// Begin is told when the first episode begins.
func (w *Watch) Begin() { w.began, w.each = w.Now(), make([]toll, len(w.Arms)) }

// Paid is told what an episode cost, or an attempt at one that was lost; nil where that is not known. It says as Ended does why the
// experiment stops.
func (w *Watch) Paid(dollars *float64) string {
	if dollars != nil {
		w.spent += *dollars
	}
	switch {
	case w.Dollars > 0 && dollars == nil:
		return "it is not known what an episode cost, so that the budget of dollars cannot be kept"
	case w.Dollars > 0 && w.spent >= w.Dollars:
		return fmt.Sprintf("the budget of $%v is used up: episodes cost $%.4f", w.Dollars, w.spent)
	}
	return ""
}

// Ended is told of every episode that ended, of which arm it is and whether infrastructure ended it, and says why the experiment
// stops; "" when it goes on. An arm that is lost alone ends it too: the others go on without being compared with anything.
func (w *Watch) Ended(arm int, lost bool, dollars *float64) string {
	w.all.add(lost)
	w.each[arm].add(lost)
	if why := w.ruined(w.each[arm], " of arm "+w.Arms[arm]); why != "" {
		return why
	}
	if why := w.ruined(w.all, ""); why != "" {
		return why
	}
	if why := w.Paid(dollars); why != "" {
		return why
	}
	if w.Wall > 0 && w.Now().Sub(w.began) >= w.Wall {
		return fmt.Sprintf("the budget of %v is used up", w.Wall)
	}
	return ""
}

// ruined says that too much was lost.
func (w *Watch) ruined(t toll, of string) string {
	if share := float64(t.lost) / float64(t.ended); w.LostShare <= 0 || t.ended < w.After || share <= w.LostShare {
		return ""
	}
	return fmt.Sprintf("%d of %d episodes%s were lost to infrastructure, which is more than %.0f %%", t.lost, t.ended, of, 100*w.LostShare)
}
