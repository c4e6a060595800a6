package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tare"
	"tare/internal/run"
)

// A Mutation is how mutants of fixes are observed and what is made of it. It is production's own path, wired by the caller.
type Mutation struct {
	// Gather makes the checks of a tree, without controls.
	Gather func(ctx context.Context, task *tare.Task, tree tare.Tree) (tare.Evidence, error)
	// Catch says which checks of a record show a fault by evidence of their own, and whether the tree was built.
	Catch func(*tare.Task, tare.Record) (built bool, by []tare.CheckKind)
	// Kinds are the checks that can.
	Kinds []tare.CheckKind
}

// A MutantRow is a mutant of a reference and what caught it.
type MutantRow struct {
	Mutant     string           `json:"mutant"`
	Built      bool             `json:"built"` // one that does not build is caught by nothing
	By         []tare.CheckKind `json:"by"`
	Equivalent string           `json:"equivalent,omitempty"` // why it is a right fix, in the task's words
}

// Survives reports whether it was built, is said to be wrong, and nothing shows that.
func (m MutantRow) Survives() bool { return m.Built && len(m.By) == 0 && m.Equivalent == "" }

// killRows plays the mutants of task's references. base is the record of a control, whose observations of the unpatched tree and
// of the reference serve as controls of theirs.
func killRows(ctx context.Context, task *tare.Task, base tare.Record, m *Mutation, o Options) ([]MutantRow, error) {
	mutants, err := Mutants(task)
	if err != nil {
		return nil, err
	}
	rows := make([]MutantRow, len(mutants))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range mutants {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range max(1, o.Jobs) {
		wg.Go(func() {
			for i := range next {
				row, err := kill(ctx, task, base, mutants[i], m)
				if err != nil {
					cancel(fmt.Errorf("mutant %s: %w", mutants[i].ID, err))
					return
				}
				mu.Lock()
				rows[i] = row
				done++
				if o.MutantProgress != nil {
					o.MutantProgress(done, len(mutants))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return rows, context.Cause(ctx)
}

func kill(ctx context.Context, task *tare.Task, base tare.Record, mutant Mutant, m *Mutation) (MutantRow, error) {
	ev, err := m.Gather(ctx, task, mutant.Tree)
	if err != nil {
		return MutantRow{}, err
	}
	if len(ev.Problems) > 0 { // of ours: once more
		if ev, err = m.Gather(ctx, task, mutant.Tree); err != nil {
			return MutantRow{}, err
		}
	}
	if len(ev.Problems) > 0 {
		return MutantRow{}, fmt.Errorf("%s: %s", ev.Problems[0].Where, ev.Problems[0].Error)
	}
	rec := base
	vuln := *ev.Vuln
	vuln.Checks = slices.Clone(ev.Vuln.Checks)
	for _, c := range base.Evidence.Vuln.Checks {
		if c.World != tare.WorldFix {
			c.ID = "control-" + c.ID
			vuln.Checks = append(vuln.Checks, c)
		}
	}
	rec.Evidence = ev
	rec.Evidence.Vuln = &vuln
	row := MutantRow{Mutant: mutant.ID, By: []tare.CheckKind{}}
	var by []tare.CheckKind
	row.Built, by = m.Catch(task, rec)
	row.By = append(row.By, by...)
	if i := slices.IndexFunc(task.Vuln.Equivalent, func(e tare.Equivalent) bool { return e.ID == mutant.ID }); i >= 0 {
		row.Equivalent = task.Vuln.Equivalent[i].Why
	}
	return row, nil
}

// kill plays the mutants, where all controls were played.
func (t *Table) kill(ctx context.Context, task *tare.Task, controls []tare.Control, results [][]run.Result, o Options) error {
	t.Whole = false
	base, ok := baseRecord(controls, results)
	if !t.Controls || o.Mutation == nil || !ok {
		return nil
	}
	var err error
	if t.Mutants, err = killRows(ctx, task, base, o.Mutation, o); err != nil {
		return err
	}
	t.Whole, t.Refused = true, refused(task, t.Mutants)
	return nil
}

// baseRecord is the record of the first reference that was played, which has whole controls.
func baseRecord(controls []tare.Control, results [][]run.Result) (tare.Record, bool) {
	for i, c := range controls {
		if c.Origin == tare.FromReference && len(results[i]) > 0 && results[i][0].Record.Evidence.Vuln != nil {
			return results[i][0].Record, true
		}
	}
	return tare.Record{}, false
}

// refused says why checks that were tried on these mutants show too little for the task to count; "" when they do not.
func refused(task *tare.Task, rows []MutantRow) string {
	killed := 0
	var wrong []string
	for _, r := range rows {
		if len(r.By) > 0 {
			killed++
		}
		if r.Equivalent != "" && len(r.By) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s is said to be a right fix, and is caught by %s", r.Mutant, join(r.By)))
		}
	}
	for _, e := range task.Vuln.Equivalent {
		if !slices.ContainsFunc(rows, func(r MutantRow) bool { return r.Mutant == e.ID }) {
			wrong = append(wrong, "there is no mutant "+e.ID+", which is said to be a right fix")
		}
	}
	if killed == 0 {
		wrong = append(wrong, fmt.Sprintf("its checks catch none of %d mutants of its fixes", len(rows)))
	}
	return strings.Join(wrong, "; ")
}

func join(kinds []tare.CheckKind) string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return strings.Join(out, ", ")
}
