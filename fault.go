package tare

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// A FaultPlan places the faults of a scenario on calls, as they come.
type FaultPlan struct {
	seed    int64
	faults  []FaultSpec
	matched []int // how many calls matched each
}

// PlanFaults makes the plan of faults; the seed decides those that come at a rate.
func PlanFaults(seed int64, faults []FaultSpec) *FaultPlan {
	return &FaultPlan{seed: seed, faults: faults, matched: make([]int, len(faults))}
}

// Place finds the fault for a call and counts the call for all faults that it matches. A call gets one at most, the first
// that is due. Of a fault that is placed on every tool, suits says whether it can be made in a call of this one.
func (p *FaultPlan) Place(tool string, args json.RawMessage, suits func(FaultKind) bool) (FaultSpec, bool) {
	var due FaultSpec
	var found bool
	for i, f := range p.faults {
		if f.Tool != "*" && f.Tool != tool || !suits(f.Kind) || !f.matches(args) {
			continue
		}
		p.matched[i]++
		if !found && p.due(i) {
			due, found = f, true
		}
	}
	return due, found
}

// matches reports whether the arguments are those that the fault waits for. A fault of pages waits for a cursor.
func (f FaultSpec) matches(args json.RawMessage) bool {
	page := f.Kind == FaultStaleCursor || f.Kind == FaultDuplicatePage
	if len(f.Where) == 0 && !page {
		return true
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return false
	}
	if _, ok := given["cursor"]; page && !ok {
		return false
	}
	for name, m := range f.Where {
		if v, ok := given[name]; !ok || !m.Match(v, nil) {
			return false
		}
	}
	return true
}

// due reports whether the call just counted is one that the i-th fault is placed on.
func (p *FaultPlan) due(i int) bool {
	f, n := p.faults[i], p.matched[i]
	if f.Nth > 0 {
		return n >= f.Nth && n < f.Nth+max(1, f.Times)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d fault %d %d", p.seed, i, n))
	return float64(binary.BigEndian.Uint64(sum[:8]))/math.MaxUint64 < f.Rate
}
