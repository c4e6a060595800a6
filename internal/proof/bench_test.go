package proof

import (
	"encoding/json"
	"testing"

	"tare"
	"tare/internal/run"
)

// thirty is the record of a careful agent at a scenario, with reads made again until it has thirty calls.
func thirty(tb testing.TB) (*tare.Task, tare.Record) {
	tb.Helper()
	task := scenario(tb, "scale_to_three")
	rec := playIn(tb, task, "careful", simulated(tb, task))
	e := &edit{task: task, spec: task.Scenario, rec: &rec, ev: rec.Evidence.Scenario}
	for at := 0; len(e.steps()) < 30; at = (at + 1) % len(e.steps()) {
		if e.looks(at) && !e.injected(at) {
			e.insert(at+1, e.steps()[at].Call, e.steps()[at].Observation, nil)
			at++
		}
	}
	return task, rec
}

// BenchmarkJudge judges a record of thirty calls, as a run does with one that it has just kept.
func BenchmarkJudge(b *testing.B) {
	task, rec := thirty(b)
	entry, err := tare.NewEntry(rec)
	if err != nil {
		b.Fatal(err)
	}
	rig := run.Rig{}
	if v := rig.Judge(task, rec, entry.Hash); v.Outcome != tare.Pass {
		b.Fatal(explain(v))
	}
	b.SetBytes(int64(len(entry.Bytes)))
	for b.Loop() {
		rig.Judge(task, rec, entry.Hash)
	}
}

// BenchmarkReadRecord reads that record, which whoever judges a stream of them has to do as well.
func BenchmarkReadRecord(b *testing.B) {
	_, rec := thirty(b)
	raw, err := json.Marshal(rec)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var again tare.Record
		if err := json.Unmarshal(raw, &again); err != nil {
			b.Fatal(err)
		}
	}
}
