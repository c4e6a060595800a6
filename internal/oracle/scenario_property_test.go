package oracle

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare"
)

// insert puts a call before the one with index k, which is len for the end.
func insert(r tare.Record, k int, s tare.Step) tare.Record {
	r = copyOf(r)
	ev := r.Evidence.Scenario
	r.Trajectory.Steps = slices.Insert(r.Trajectory.Steps, k, s)
	for i := range r.Trajectory.Steps {
		r.Trajectory.Steps[i].Call.Index = i
	}
	for i := range ev.States {
		if ev.States[i].Step > k || ev.States[i].Step == k && ev.States[i].Label == tare.LabelAfter {
			ev.States[i].Step++
		}
	}
	shift := func(step *int) {
		if *step >= k {
			*step++
		}
	}
	for i := range ev.Deltas {
		shift(&ev.Deltas[i].Step)
	}
	for i := range ev.Injected {
		shift(&ev.Injected[i].Step)
	}
	for i := range ev.Divergences {
		shift(&ev.Divergences[i].Step)
	}
	for i := range ev.Reviews {
		if ev.Reviews[i].Step != nil {
			shift(ev.Reviews[i].Step)
		}
	}
	return r
}

// answers are the outcomes of all gates.
func outcomes(v tare.Verdict) string {
	var out []string
	for _, g := range v.Gates {
		out = append(out, g.Name+"="+string(g.Outcome)+g.BlockedBy)
	}
	return string(v.Outcome) + " by " + v.RootGate + " " + strings.Join(out, " ")
}

// TestAReadChangesNothing puts a read of something that no rule names anywhere into every play.
func TestAReadChangesNothing(t *testing.T) {
	prices := tare.Step{Call: tare.Call{Tool: "list_prices", Args: js(`{}`)}, Observation: tare.Observation{OK: true, Preview: `{"prices":[]}`, Size: 13, Data: js(`{"prices":[]}`)}}
	// Rules that ask whether the agent looked at anything, and records that say which call is which.
	asks := []string{"route/question", "claims/verified", "claims/nothing-found", "errors/hammered", "minefields/repeats", "infrastructure/calls", "infrastructure/evidence"}
	for _, p := range plays() {
		if slices.Contains(asks, p.rule) {
			continue
		}
		task, rec := p.make()
		bench := NewBench(task)
		want := outcomes(bench.Judge(rec))
		for k := range len(rec.Trajectory.Steps) + 1 {
			if got := outcomes(bench.Judge(insert(rec, k, prices))); got != want {
				t.Errorf("%s %s, a read before call %d\n got %s\nwant %s", p.rule, p.name, k, got, want)
			}
		}
	}
}

// TestEmptiedScenariosNeverPass takes away a part of each record that passes.
func TestEmptiedScenariosNeverPass(t *testing.T) {
	empty := map[string]func(*tare.Record){
		"all":       func(r *tare.Record) { *r = tare.Record{} },
		"evidence":  func(r *tare.Record) { r.Evidence = tare.Evidence{} },
		"scenario":  func(r *tare.Record) { r.Evidence.Scenario = nil },
		"states":    func(r *tare.Record) { r.Evidence.Scenario.States = nil },
		"the end":   func(r *tare.Record) { r.Evidence.Scenario.States = r.Evidence.Scenario.States[:1] },
		"catalogue": func(r *tare.Record) { r.Evidence.Scenario.Catalogue = tare.Catalogue{} },
		"calls":     func(r *tare.Record) { r.Trajectory.Steps = nil },
		"message":   func(r *tare.Record) { r.Trajectory.Final = "" },
		"stop":      func(r *tare.Record) { r.Trajectory.Stop = "" },
		"items": func(r *tare.Record) {
			for i := range r.Evidence.Scenario.States {
				for name := range r.Evidence.Scenario.States[i].Collections {
					r.Evidence.Scenario.States[i].Collections[name] = tare.Collection{}
				}
			}
		},
		"answers": func(r *tare.Record) {
			for i := range r.Trajectory.Steps {
				r.Trajectory.Steps[i].Observation = tare.Observation{}
			}
		},
		"arguments": func(r *tare.Record) {
			for i := range r.Trajectory.Steps {
				r.Trajectory.Steps[i].Call.Args = nil
			}
		},
	}
	for _, p := range plays() {
		if p.want != tare.Pass {
			continue
		}
		for what, f := range empty {
			task, rec := p.make()
			f(&rec)
			if v := Judge(task, rec); v.Outcome == tare.Pass {
				t.Errorf("%s passes without %s", p.name, what)
			}
		}
	}
}

// TestScenarioJudgeOfAnything judges records of which random parts are missing or are something else, and asks for an
// explanation of each gate.
func TestScenarioJudgeOfAnything(t *testing.T) {
	rows := plays()
	benches := map[int]*Bench{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
		task, rec := rows[n].make()
		bench := benches[n]
		if bench == nil {
			bench = NewBench(task)
			benches[n] = bench
		}
		var v any
		if err := json.Unmarshal(must(json.Marshal(rec)), &v); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(t, "cuts") {
			v = damage(t, v)
		}
		var out tare.Record
		if json.Unmarshal(must(json.Marshal(v)), &out) != nil {
			return // of another form
		}
		verdict := bench.Judge(out)
		if len(verdict.Gates) != len(ScenarioGates()) {
			t.Fatalf("%d gates", len(verdict.Gates))
		}
		for _, g := range verdict.Gates {
			if g.Outcome == "" || g.Reason == "" || g.Need == "" {
				t.Errorf("gate %+v", g)
			}
		}
		if verdict.Outcome != tare.Pass && (verdict.RootGate == "" || verdict.Cause == "") {
			t.Errorf("no root or no cause: %s", shown(verdict))
		}
		if again := bench.Judge(out); !reflect.DeepEqual(again, verdict) {
			t.Errorf("judged twice, two verdicts:\n%s\n%s", shown(verdict), shown(again))
		}
		gate := rapid.SampledFrom(ScenarioGates()).Draw(t, "gate")
		if s := Explain(task, out, verdict, gate); len(s) > maxExplain {
			t.Errorf("%d bytes", len(s))
		}
	})
}

// damage takes something away from a JSON value at a random place, or puts something else there.
func damage(t *rapid.T, v any) any {
	switch x := v.(type) {
	case map[string]any:
		keys := sortedKeys(x)
		if len(keys) == 0 {
			return x
		}
		k := rapid.SampledFrom(keys).Draw(t, "key")
		switch rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			delete(x, k)
		default:
			x[k] = damage(t, x[k])
		}
		return x
	case []any:
		if len(x) == 0 {
			return x
		}
		i := rapid.IntRange(0, len(x)-1).Draw(t, "item")
		switch rapid.IntRange(0, 6).Draw(t, "how") {
		case 0:
			return slices.Delete(x, i, i+1)
		case 1:
			return append(x, x[i])
		default:
			x[i] = damage(t, x[i])
		}
		return x
	case string:
		return rapid.SampledFrom([]any{"", "x", x + x, nil, "app_their", "The app is running."}).Draw(t, "string")
	case float64:
		return rapid.SampledFrom([]any{-1, 0, x + 1, 1e9, nil}).Draw(t, "number")
	case bool:
		return !x
	}
	return v
}

// TestOneReason judges a read that lies of several items in several places: the reason must always be the same.
func TestOneReason(t *testing.T) {
	rec := good()
	step(&rec, 2).Observation.Data = js(`{"z":{"id":"app_shop","name":"x"},"a":{"id":"app_blog","name":"x","account_id":"x"},"m":[{"id":"app_their","name":"y"}]}`)
	bench := NewBench(aScenario())
	want := shown(bench.Judge(rec))
	if !strings.Contains(want, "account_id") {
		t.Error(want)
	}
	for range 50 {
		if got := shown(bench.Judge(rec)); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// long is a record of 30 calls.
func long() tare.Record {
	s := newStage().list().scale().look()
	for range 27 {
		s.call("get_app", `{"app_id":"app_shop"}`, `{"app":`+string(s.items["apps"]["app_shop"])+`}`)
	}
	return s.end(goodFinal)
}

func BenchmarkJudgeScenario(b *testing.B) {
	rec, bench := long(), NewBench(aScenario())
	if v := bench.Judge(rec); v.Outcome != tare.Pass {
		b.Fatal(shown(v))
	}
	hash := tare.HashBytes(must(tare.Canonical(rec)))
	for b.Loop() {
		bench.JudgeEntry(rec, hash)
	}
}

// BenchmarkStreamScenario judges records one after the other, each read anew, and reports what memory is held in between.
func BenchmarkStreamScenario(b *testing.B) {
	raw, bench := must(json.Marshal(long())), NewBench(aScenario())
	var most uint64
	for i := 0; b.Loop(); i++ {
		var rec tare.Record
		if err := json.Unmarshal(raw, &rec); err != nil {
			b.Fatal(err)
		}
		rec.Trajectory.Episode.Trial = i
		rec.Evidence.Scenario.Catalogue.Tools[0].InputSchema = js(fmt.Sprintf(`{"title":"%d"}`, i)) // a catalogue of its own
		bench.JudgeEntry(rec, tare.HashBytes(raw))
		if i%1000 == 999 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	b.ReportMetric(float64(most)/1e6, "MB-held")
}

// TestManyCalls judges a record of as many calls as one may have, all of them the worst kind: changes that failed.
func TestManyCalls(t *testing.T) {
	s := newStage().list()
	for i := range 20_000 {
		s.call("create_app", fmt.Sprintf(`{"name":"shop%d","account_id":"acct_north"}`, i%7000), `{"error":{"status":503,"retryable":true}}`).fails()
	}
	if v := NewBench(aScenario()).Judge(s.end("I could not do it.")); v.Outcome != tare.Fail {
		t.Error(shown(v))
	}
}
